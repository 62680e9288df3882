"""The commands of ``ralph plan``, one per file."""
