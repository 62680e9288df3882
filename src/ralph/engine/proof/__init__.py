"""Proof that does not believe the working tree: checks in throw-away checkouts, before a claim is accepted."""
