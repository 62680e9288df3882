"""Which agents work in a run, and in which versions, in words."""

from __future__ import annotations

from collections.abc import Mapping

CHAINED = ", then "


def with_versions(agents: str, versions: Mapping[str, str]) -> str:
    """``claude 2.1.325, then codex 0.166.0``: the title of a run's agents, each with its version if that is known."""
    return CHAINED.join(f"{agent} {versions.get(agent, '')}".rstrip() for agent in agents.split(CHAINED))
