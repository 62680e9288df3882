"""Everything about the Gemini CLI."""
