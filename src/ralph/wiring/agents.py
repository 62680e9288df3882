"""Which agent programs a run uses: adapters chosen, programs found, or a clear word about what is missing."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ralph.adapters.agents.registry import KNOWN_AGENTS, PLAIN, split_flags
from ralph.config.schema import Settings
from ralph.engine.ports import AgentAdapter
from ralph.errors import AgentUnavailable
from ralph.wiring.agent_definitions import named_adapter, options_of, program_of


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
    first = named_adapter(
        settings,
        agent.command,
        as_root=as_root,
        flags=split_flags(agent.flags),
        adapter=agent.adapter,
        options=options_of(settings),
    )
    commands = (agent.command, *agent.fallbacks)
    program, *others = (program_of(settings, command) for command in commands)
    path = agent.environment.get("PATH", environ.get("PATH", os.defpath))
    try:
        _require_agent(program, first.name, workspace, path, known=(*KNOWN_AGENTS, *settings.agents))
    except AgentUnavailable:
        if not any(_is_there(other, workspace, path) for other in others):
            raise
    stand_ins = tuple(named_adapter(settings, command, as_root=as_root) for command in agent.fallbacks)
    return ChosenAgents((first, *stand_ins), commands)


def _is_there(command: str, workspace: Path, path: str) -> bool:
    if os.sep not in command:
        return shutil.which(command, path=path) is not None
    file = workspace / command
    return file.is_file() and os.access(file, os.X_OK)


def _require_agent(command: str, name: str, workspace: Path, path: str, *, known: Sequence[str]) -> None:
    how = KNOWN_AGENTS.get(name, "")
    if _is_there(command, workspace, path):
        return
    if os.sep in command:
        file = workspace / command
        if file.is_dir():
            message = f"agent {command} is a directory"
            raise AgentUnavailable(message, hint="set agent.command to the program in it")
        if file.is_file() and not os.access(file, os.X_OK):
            message = f"agent {command} is not executable"
            raise AgentUnavailable(message, hint=f"chmod +x {shlex.quote(command)}")
    message = f"agent not found: {command}"
    if " " in command:
        hint = "agent.command is the program alone; put its arguments into agent.flags"
    elif name == PLAIN or not how:
        names = ", ".join(agent for agent in known if agent != PLAIN)
        hint = f"install it, set agent.command to its path, or use an agent that is known: {names}"
    else:
        hint = f"install it ({how}), or set agent.command to its path"
    raise AgentUnavailable(message, hint=hint)
