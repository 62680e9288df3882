"""Settings: what they may be (schema), where they come from (sources), which one wins (layers)."""
