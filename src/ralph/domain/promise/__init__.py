"""The promise loop: its state and prompts, in runs and in a session of Claude Code."""
