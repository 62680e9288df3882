"""Where pull requests live: one file per forge, and the ways to talk to it."""
