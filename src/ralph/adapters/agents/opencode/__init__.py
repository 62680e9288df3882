"""Everything about opencode."""
