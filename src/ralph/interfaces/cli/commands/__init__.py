"""The commands of ``ralph``, one per file; each is a ``command`` in the module of its name."""
