"""How the user stops and pauses a run."""
