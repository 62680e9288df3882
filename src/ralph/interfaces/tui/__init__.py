"""The terminal UI: screens over the feed. It reads the record, sends requests to runs, and has no rules of its own."""
