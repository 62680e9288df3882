"""Runs a command-line coding agent again and again until the work is verifiably done."""

__version__ = "0.1.0"
