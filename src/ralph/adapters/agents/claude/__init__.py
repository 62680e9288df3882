"""Everything about Claude Code."""
