"""The commands of ``ralph task``, one per file."""
