"""Which agent programs a run uses: adapters chosen, programs found, or a clear word about what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from ralph.adapters.agents.registry import KNOWN_AGENTS, PLAIN, adapter_for, infer, split_flags
from ralph.config.schema import Settings
from ralph.engine.ports import AgentAdapter
from ralph.errors import AgentUnavailable


@dataclass(frozen=True, slots=True)
class ChosenAgents:
    """The one that works, and those that stand in for it; ``commands`` are their programs."""

    chain: tuple[AgentAdapter, ...]
    commands: tuple[str, ...]

    @property
    def first(self) -> AgentAdapter:
        return self.chain[0]

    @property
    def title(self) -> str:
        """How people call them: a plain agent by its program."""
        return ", then ".join(
            adapter.name if adapter.name != PLAIN else f"{PurePath(command).name} (plain)"
            for adapter, command in zip(self.chain, self.commands, strict=True)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for adapter in self.chain for note in adapter.notes))


def chosen_agents(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> ChosenAgents:
    """Raises AgentUnavailable if none of the chain is there."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    agent = settings.agent
    name = agent.adapter or infer(agent.command)
    first = adapter_for(name, command=agent.command, flags=split_flags(agent.flags), as_root=as_root)
    path = agent.environment.get("PATH", environ.get("PATH", os.defpath))
    try:
        _require_agent(agent.command, name, workspace, path)
    except AgentUnavailable:
        if not any(shutil.which(stand_in, path=path) for stand_in in agent.fallbacks):
            raise
    others = tuple(
        adapter_for(infer(command), command=command, flags=(), as_root=as_root) for command in agent.fallbacks
    )
    return ChosenAgents((first, *others), (agent.command, *agent.fallbacks))


def _require_agent(command: str, name: str, workspace: Path, path: str) -> None:
    how = KNOWN_AGENTS[name]
    if os.sep in command:
        file = workspace / command
        if file.is_dir():
            message = f"agent {command} is a directory"
            raise AgentUnavailable(message, hint="set agent.command to the program in it")
        if file.is_file() and not os.access(file, os.X_OK):
            message = f"agent {command} is not executable"
            raise AgentUnavailable(message, hint=f"chmod +x {command}")
        found = file.is_file()
    else:
        found = shutil.which(command, path=path) is not None
    if not found:
        message = f"agent not found: {command}"
        if " " in command:
            hint = "agent.command is the program alone; put its arguments into agent.flags"
        elif name == PLAIN:
            hint = "install it, or set agent.command to its path"
        else:
            hint = f"install it ({how}), or set agent.command to its path"
        raise AgentUnavailable(message, hint=hint)
