"""One folder per agent, which knows everything about that agent; the modules beside them are what agents share."""
