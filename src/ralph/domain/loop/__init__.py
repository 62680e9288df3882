"""The loop as values: what a session is asked, what is claimed and proven, and what is decided."""
