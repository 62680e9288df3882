"""Sandboxes: each kind in its own module, the places and variables it lets in, and what an agent may leave behind."""
