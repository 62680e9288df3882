"""Agents that ralph does not have: each is a folder as it would be in ``ralph/adapters/agents``."""
