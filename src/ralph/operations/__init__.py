"""What a person or a program can do with ralph, each thing once: the only door of the faces."""
