"""Work that is one prompt, and what every run may add to a prompt."""
