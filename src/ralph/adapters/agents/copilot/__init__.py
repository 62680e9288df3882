"""Everything about the GitHub Copilot CLI."""
