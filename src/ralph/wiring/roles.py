"""Who works and who judges, as the settings say: the agents of roles, and their command lines."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ralph.adapters.agents.registry import split_flags
from ralph.adapters.files import is_true
from ralph.config.schema import Settings
from ralph.domain.proof.judge_programs import words_that_run
from ralph.values import replace
from ralph.wiring.agents import ChosenAgents, chosen_agents, program_of


def agents_of_roles(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> dict[str, ChosenAgents]:
    """Only of the roles for which another agent or model was chosen. Raises AgentUnavailable."""
    return {
        name: chosen_agents(with_agent(settings, role.agent, role.model), workspace, environ=environ)
        for name, role in settings.profiles.verified.roles.items()
        if role.agent or role.model
    }


def notes_on_roles(settings: Settings, workspace: Path, told: Iterable[str]) -> Iterator[str]:
    """What the user should know of the agents of single roles, besides what is ``told`` of the usual one."""
    known = {*told}
    for role, chosen in agents_of_roles(settings, workspace).items():
        yield from (f"{role}: {note}" for note in chosen.notes if note not in known)


def other_programs(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """What is started besides the usual agent, so that a sandbox has what they need. Raises AgentUnavailable."""
    others = [*agents_of_roles(settings, workspace, environ=environ).values()]
    others.append(judge_of(settings, workspace, environ=environ))
    return tuple(dict.fromkeys(command for chosen in others for command in chosen.programs))


def judge_of(
    settings: Settings, workspace: Path, *, environ: Mapping[str, str] = os.environ, model: str = ""
) -> ChosenAgents:
    """Who judges by the criteria; ``model`` is the one that the task itself asks for."""
    own = settings.profiles.verified
    chosen = with_agent(settings, own.semantic_agent, model or own.semantic_model)
    return chosen_agents(chosen, workspace, environ=environ)


def with_agent(settings: Settings, command: str, model: str) -> Settings:
    """Another program gets none of the flags that were meant for the usual one."""
    agent = settings.agent
    if command and command != agent.command:
        agent = replace(
            agent,
            command=command,
            flags=(),
            adapter=None,
            fallbacks=(),
            model="",
            max_turns=None,
            continue_session=False,
        )
    return replace(settings, agent=replace(agent, model=model or agent.model))


def command_lines(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """Of whoever may work or judge: the program, and what it is always given."""
    own = settings.profiles.verified
    others = (with_agent(settings, role.agent, "") for role in own.roles.values() if role.agent)
    return tuple(line for one in (settings, *others) for line in _lines(one)) + judges_lines(settings)


def judges_lines(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """Of whoever judges by criteria and reviews tests."""
    return tuple(_lines(with_agent(settings, settings.profiles.verified.semantic_agent, "")))


def _lines(settings: Settings) -> Iterator[tuple[str, ...]]:
    agent = settings.agent
    for command, flags in ((agent.command, agent.flags), *((fallback, ()) for fallback in agent.fallbacks)):
        defined = settings.agents.get(command)
        own = (command,) if defined is None else (defined.command, *split_flags(defined.flags))
        yield (*own, *split_flags(flags))


def anchor_programs(settings: Settings, folder: Path) -> Settings:
    """With relative agent programs as seen from ``folder``: a task's worktree and a judge's checkout are elsewhere."""

    def absolute(command: str) -> str:
        is_relative = os.sep in command and not Path(command).is_absolute()
        return str((folder / command).absolute()) if is_relative else command

    def with_absolute(command: str, flags: Sequence[str]) -> tuple[str, ...]:
        """Scripts that an interpreter is given."""
        words = split_flags(flags)
        scripts = {
            word for word in [*words_that_run((command, *words))][1:] if is_true((folder / word).is_file)
        }
        if not scripts:
            return tuple(flags)
        return tuple(shlex.quote(str(folder / word) if word in scripts else word) for word in words)

    agent = settings.agent
    verified = settings.profiles.verified
    roles = {name: replace(role, agent=absolute(role.agent)) for name, role in verified.roles.items()}
    verified = replace(verified, roles=roles, semantic_agent=absolute(verified.semantic_agent))
    return replace(
        settings,
        agents={
            name: replace(own, command=absolute(own.command), flags=with_absolute(own.command, own.flags))
            for name, own in settings.agents.items()
        },
        agent=replace(
            agent,
            command=absolute(agent.command),
            flags=with_absolute(program_of(settings, agent.command), agent.flags),
            fallbacks=tuple(map(absolute, agent.fallbacks)),
        ),
        profiles=replace(settings.profiles, verified=verified),
    )
