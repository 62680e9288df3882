"""What a repository asks of its user, and how it is remembered that they agreed. Hooks use it: the standard library only."""
