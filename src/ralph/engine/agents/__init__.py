"""Agents made of agents: one that continues its session, stands in for another, or is restarted."""
