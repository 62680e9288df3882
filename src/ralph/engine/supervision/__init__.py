"""Work that is one root agent, restarted until it is done."""
