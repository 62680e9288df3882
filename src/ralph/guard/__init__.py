"""The guard: is a shell command dangerous? A seat belt, not a wall. Start at ``guard.judge``."""
