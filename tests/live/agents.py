"""The real agents that the scripted model is tried with: all that know how to be pointed at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ralph.adapters.agents.loopback import Loopback, loopback_of
from ralph.agent_names import named_agents


@dataclass(frozen=True, slots=True)
class LiveAgent:
    """An agent's name, and how its program is pointed at a model."""

    name: str
    loopback: Loopback


LIVE_AGENTS: Final[Mapping[str, LiveAgent]] = {
    name: LiveAgent(name, loopback) for name in named_agents() if (loopback := loopback_of(name)) is not None
}
