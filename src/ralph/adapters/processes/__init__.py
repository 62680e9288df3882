"""Starts, watches and ends processes; nothing else in ralph does."""
