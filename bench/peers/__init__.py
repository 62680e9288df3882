"""ralph beside its peers: what each costs with the same agent in one run, and what it does meanwhile. ``make bench-peers``."""
