"""Fakes for your tests and ours: each behaves like the real thing, and none only records calls."""
