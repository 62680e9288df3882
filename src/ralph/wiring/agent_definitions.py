"""From the settings to an agent's adapter: one that ralph knows, one that the user described, or any command."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.agents.options import NO_OPTIONS, SessionOptions
from ralph.adapters.agents.registry import adapter_for, defined_adapter, infer, split_flags
from ralph.config.schema import Settings
from ralph.domain.agent.definition import AgentDefinition, OutputFormat, PromptWay
from ralph.engine.ports import AgentAdapter


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
        output=given.output or OutputFormat.TEXT,
        model=given.model,
        environment=given.environment,
    )


def program_of(settings: Settings, command: str) -> str:
    """The program that this agent's name or command starts."""
    given = settings.agents.get(command)
    return command if given is None else given.command


def options_of(settings: Settings) -> SessionOptions:
    """What is wanted of every session of the first agent; those that stand in for it know other models."""
    agent = settings.agent
    return SessionOptions(agent.model, agent.max_turns, agent.continue_session)


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
    name = adapter or infer(command)
    return adapter_for(name, command=command, flags=flags, as_root=as_root, options=options)
