"""The terminal UI: screens over the feed. It reads what is recorded, asks runs for things, and has no rules of its own."""
