"""Whose account a job's sessions use."""

from __future__ import annotations


def agent_of(*said: str) -> str:
    """The agent's name, from whoever knows best and says anything: first the run itself, then what was submitted, then the
    settings. A program is known by its name, wherever it is."""
    return next(filter(None, said), "").rstrip("/").rpartition("/")[2]
