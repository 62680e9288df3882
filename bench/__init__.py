"""What ralph costs, measured against a baseline in the same run. ``make bench``."""
