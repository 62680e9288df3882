"""The loop and what it asks of the world; one room for each kind of work."""
