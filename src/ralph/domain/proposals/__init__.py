"""What a project's own files suggest for its settings: one file per ecosystem, and the registry that asks them all."""
