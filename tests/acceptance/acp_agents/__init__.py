"""ACP agents for tests: one made with the protocol's own SDK, and one that keeps to nothing."""
