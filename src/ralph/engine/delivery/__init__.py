"""Delivers accepted work through a pull request: looks, lets ``deliver`` decide, and does that one thing."""
