"""Reviewing a commit: read-only sessions in throw-away checkouts, and the check that reads what they answer."""
