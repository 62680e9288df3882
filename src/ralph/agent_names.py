"""The names of the agents that ralph knows: each is a folder in ``adapters/agents`` with an ``agent.py`` in it.

Settings, help texts and the registry take the names from here. No agent is imported for that.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

PLAIN: Final = "plain"
"""The agent for any command that no other knows."""
ACP: Final = "acp"
"""The adapter for any program that speaks the Agent Client Protocol."""
USUAL_AGENT: Final = "claude"
"""What is proposed first."""


@cache
def known_agents() -> tuple[str, ...]:
    folders = import_module("ralph.adapters.agents").__path__
    entries = (entry for folder in folders for entry in Path(folder).iterdir())
    return tuple(sorted(entry.name.replace("_", "-") for entry in entries if (entry / "agent.py").is_file()))


@cache
def named_agents() -> tuple[str, ...]:
    """Those that a program can be: all but the two that are for any."""
    return tuple(name for name in known_agents() if name not in (PLAIN, ACP))
