"""Settings: what they may be (schema), where they come from (sources), and their checked values (loading)."""
