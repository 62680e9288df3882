"""Probes: where claims of the agent are found."""
