"""Everything about Codex."""
