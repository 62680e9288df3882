"""From the settings to the agents of a run: their adapters, programs and needs, or a clear word on what is missing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from ralph.adapters.agents.registry import (
    acp_programs,
    adapter_for,
    defined_adapter,
    facts_of,
    infer,
    split_flags,
)
from ralph.adapters.files import is_true
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.search_path import find_program
from ralph.agent_names import ACP, PLAIN, USUAL_AGENT, known_agents, named_agents
from ralph.config.schema import Settings
from ralph.domain.agent.definition import TEXT, AgentDefinition, PromptWay, speaker_of
from ralph.domain.agent.facts import AgentNeeds, needs_of_all
from ralph.domain.agent.options import NO_OPTIONS, SessionOptions
from ralph.domain.views.agent_versions import CHAINED
from ralph.engine.ports import AgentAdapter
from ralph.errors import AgentUnavailable
from ralph.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class ChosenAgents:
    """The one that works, and those that stand in for it; ``programs`` are what they start."""

    chain: tuple[AgentAdapter, ...]
    programs: tuple[str, ...]

    @property
    def first(self) -> AgentAdapter:
        return self.chain[0]

    def beginning_with(self, turn: int) -> ChosenAgents:
        """The same chain, but another one of it is asked first; the ones before it come last."""
        start = turn % len(self.chain)
        return ChosenAgents(
            (*self.chain[start:], *self.chain[:start]), (*self.programs[start:], *self.programs[:start])
        )

    @property
    def title(self) -> str:
        """What people call them: a plain agent by its program."""
        return CHAINED.join(
            adapter.name if adapter.name != PLAIN else f"{PurePath(program).name} (plain)"
            for adapter, program in zip(self.chain, self.programs, strict=True)
        )

    @property
    def tells_usage(self) -> bool:
        """A plain program prints words and nothing else."""
        return self.first.name != PLAIN

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for adapter in self.chain for note in adapter.notes))


def chosen_agents(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> ChosenAgents:
    """Raises AgentUnavailable if none of the chain is there."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    agent = settings.agent
    chain = adapters_of(settings, as_root=as_root)
    programs = tuple(program_of(settings, command) for command in (agent.command, *agent.fallbacks))
    path = agent.environment.get("PATH", environ.get("PATH", os.defpath))
    if not any(_is_there(program, workspace, path) for program in programs):
        raise _unavailable(settings, chain[0].name, programs[0], workspace)
    return ChosenAgents(chain, programs)


def adapters_of(settings: Settings, *, as_root: bool) -> tuple[AgentAdapter, ...]:
    """The agent's, and those of its fallbacks, which get few of its options: they know other models."""
    agent = settings.agent
    isolated = SessionOptions(isolation=agent.isolation)
    first = named_adapter(
        settings,
        agent.command,
        as_root=as_root,
        flags=split_flags(agent.flags),
        adapter=agent.adapter,
        options=replace(
            isolated, model=agent.model, max_turns=agent.max_turns, continue_session=agent.continue_session
        ),
    )
    others = (
        named_adapter(settings, command, as_root=as_root, options=isolated) for command in agent.fallbacks
    )
    return (first, *others)


def named_adapter(
    settings: Settings,
    command: str,
    *,
    as_root: bool,
    flags: Sequence[str] = (),
    adapter: str | None = None,
    options: SessionOptions = NO_OPTIONS,
) -> AgentAdapter:
    """``command`` is the name of an agent or a program; ``adapter`` says how to talk to a program with another name."""
    definition = definition_of(settings, command)
    if definition is not None:
        return defined_adapter(definition, flags=flags, as_root=as_root, options=options)
    if command == ACP:
        raise _no_program()
    name = adapter or infer(command, flags)
    return adapter_for(name, command=command, flags=flags, as_root=as_root, options=options)


def definition_of(settings: Settings, command: str) -> AgentDefinition | None:
    """The user's own agent of this name, if it is one."""
    given = settings.agents.get(command)
    if given is None:
        return None
    return AgentDefinition(
        name=command,
        command=given.command,
        flags=split_flags(given.flags, key=f"agents.{command}.flags"),
        adapter=given.adapter or "",
        prompt=given.prompt or PromptWay.STDIN,
        speaks=speaker_of(given.output or TEXT),
        model=given.model,
        isolation=given.isolation,
        permissions=given.permissions,
        environment=given.environment,
    )


def program_of(settings: Settings, command: str) -> str:
    """The program that this agent's name or command starts."""
    given = settings.agents.get(command)
    return command if given is None else given.command


def kind_of(settings: Settings, command: str) -> str:
    """The known agent that this agent's name or command is."""
    definition = settings.agents.get(command)
    if definition is not None:
        return definition.adapter or PLAIN
    is_first = command == settings.agent.command
    flags = settings.agent.flags if is_first else ()
    return (settings.agent.adapter if is_first else None) or infer(command, flags)


def versions_of(
    settings: Settings, chosen: ChosenAgents, workspace: Path, *, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The version of each of them that is installed on this machine, as far as its files tell."""
    return tuple(
        _version_of(settings, adapter.name, program, workspace, environ.get("PATH", os.defpath))
        for adapter, program in zip(chosen.chain, chosen.programs, strict=True)
    )


def _version_of(settings: Settings, name: str, program: str, workspace: Path, path: str) -> str:
    kind = _kind_of_chosen(settings, name, program)
    if kind == PLAIN:
        return ""
    found = find_program(str(workspace / program) if os.sep in program else program, path)
    if found is None:
        return ""
    from ralph.adapters.agents.installed_version import installed_version

    return installed_version(Path(found), facts_of(kind))


def can_probe(settings: Settings, name: str, program: str) -> bool:
    """Whether `ralph doctor --probe` can show what an agent of the chain says."""
    from ralph.adapters.agents.loopback import loopback_of

    return loopback_of(_kind_of_chosen(settings, name, program)) is not None


def _kind_of_chosen(settings: Settings, name: str, program: str) -> str:
    return kind_of(settings, name if name in settings.agents else program)


def needs_of(settings: Settings, programs: Sequence[str]) -> AgentNeeds:
    """What a sandbox must have for these programs. Nothing for one that nobody knows: its user lists what it needs."""
    kinds = [infer(program) for program in programs]
    kinds += [own.adapter for own in settings.agents.values() if own.adapter and own.command in programs]
    if settings.agent.adapter is not None and settings.agent.command in programs:
        kinds.append(settings.agent.adapter)
    return needs_of_all(facts_of(kind).needs for kind in dict.fromkeys(kinds))


def installed_agents(
    environ: Mapping[str, str] = os.environ, reach: Iterable[str | os.PathLike[str]] = ()
) -> tuple[str, ...]:
    """The known agents whose programs are on PATH, and not in the folders of ``reach``; the usual one first."""
    programs = OwnPrograms(environ, reach)
    found = [name for name in named_agents() if programs.find(name) is not None]
    return tuple(sorted(found, key=lambda name: name != USUAL_AGENT))


def _is_there(program: str, workspace: Path, path: str) -> bool:
    if os.sep not in program:
        return find_program(program, path) is not None
    file = workspace / program
    return is_true(file.is_file) and os.access(file, os.X_OK)


def _unavailable(settings: Settings, name: str, program: str, workspace: Path) -> AgentUnavailable:
    if not program:
        return AgentUnavailable("no agent is set", hint="set agent.command")
    file = workspace / program
    if os.sep in program and is_true(file.is_dir):
        message = f"agent {program} is a directory"
        return AgentUnavailable(message, hint="set agent.command to the program in it")
    if os.sep in program and is_true(file.is_file):
        return AgentUnavailable(f"agent {program} is not executable", hint=f"chmod +x {shlex.quote(program)}")
    if name in acp_programs():
        hint = f"install it ({facts_of(ACP, name).install}), or set agent.command to its path"
    elif program.partition(" ")[0] in acp_programs():
        hint = f"name the program alone: `--agent {program.partition(' ')[0]}` speaks ACP with it"
    elif " " in program:
        hint = "agent.command is the program alone; put its arguments in agent.flags"
    elif name == PLAIN or name not in known_agents():
        names = ", ".join((*named_agents(), *settings.agents, *acp_programs()))
        hint = f"install it, set agent.command to its path, or use an agent that is known: {names}"
    else:
        hint = f"install it ({facts_of(name).install}), or set agent.command to its path"
    return AgentUnavailable(f"agent not found: {program}", hint=hint)


def _no_program() -> AgentUnavailable:
    example = '"agents": {"mine": {"adapter": "acp", "command": "goose acp"}}'
    hint = f"name the program: one of {', '.join(acp_programs())}, or any other by a definition: {example}"
    return AgentUnavailable("acp is a protocol, not a program", hint=hint)
