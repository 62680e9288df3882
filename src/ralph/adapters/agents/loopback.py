"""How an agent is pointed at a model on this machine: without an account, and without its own retries where it can be told.

Each agent that can be has a module ``loopback`` in its folder; only `ralph doctor --probe` and the tests of real agents
load it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ralph.agent_names import named_agents
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Loopback:
    """``variables`` and ``files`` (below the home folder) may say ``{model}``, its address, and ``{home}``.

    ``subscription``: variables that make it think that it works for an account and not with a key. ``persists``: it tries
    again by itself, whatever it is told. ``other_model``: a model besides the
    usual one, as the user would name it; the last part of that is what the model is asked for.
    """

    variables: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    subscription: Mapping[str, str] = field(default_factory=dict)
    persists: bool = False
    other_model: str = "probe-model"

    def prepare(self, home: Path, model: str) -> dict[str, str]:
        """Write what it reads in its home, and return its variables."""

        def filled(text: str) -> str:
            return text.replace("{model}", model).replace("{home}", str(home))

        for name, text in self.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(filled(text), encoding="utf-8")
        return {name: filled(value) for name, value in self.variables.items()}


def loopback_of(agent: str) -> Loopback | None:
    """None: nobody knows how this agent could be pointed at another model."""
    if agent not in named_agents():
        return None
    name = f"{__package__}.{agent.replace('-', '_')}.loopback"
    return cast("Loopback", import_module(name).LOOPBACK) if find_spec(name) is not None else None
