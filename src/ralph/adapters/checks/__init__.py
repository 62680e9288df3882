"""Checks that touch the world: running required commands, a user's own methods, the files that prove the work."""
