"""What happens after a green iteration: commits, pushes, and whatever else the settings ask for."""
