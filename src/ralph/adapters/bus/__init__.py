"""The message buses: appending, reading, what a run posts, and messages from inside a sandbox."""
