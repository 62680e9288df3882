"""How to get an adapter for an agent, and the facts about it. Only the module of the agent in question is imported."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from ralph.agent_names import ACP, PLAIN, known_agents
from ralph.domain.agent.options import NO_OPTIONS, SessionOptions
from ralph.errors import ConfigError
from ralph.patterns import pattern

if TYPE_CHECKING:
    from ralph.domain.agent.definition import AgentDefinition
    from ralph.domain.agent.facts import AgentFacts
    from ralph.engine.ports import AgentAdapter

_LAUNCHER_SUFFIX = pattern(r"\.(?:cmd|exe|bat|ps1)$")


class _MakesAdapter(Protocol):
    facts: AgentFacts

    def __call__(
        self, *, command: str, flags: Sequence[str], as_root: bool, options: SessionOptions
    ) -> AgentAdapter: ...


def _adapter_class(name: str) -> _MakesAdapter:
    """What ``ADAPTER`` in an agent's own module is."""
    if name not in known_agents():
        message = f"unknown agent {name!r}"
        raise ConfigError(message, hint=f"known agents: {', '.join(known_agents())}")
    module = import_module(f"{__package__}.{name.replace('-', '_')}.agent")
    return cast("_MakesAdapter", module.ADAPTER)


def facts_of(name: str, command: str = "") -> AgentFacts:
    """``command``: the program, where one adapter is for many."""
    if name == ACP and command:
        from ralph.adapters.agents.acp.agent import facts_about

        return facts_about(command)
    return _adapter_class(name).facts


def infer(command: str, flags: Sequence[str] = ()) -> str:
    """The agent that a command starts, by its file name: ``/usr/bin/claude`` and ``claude.cmd`` are claude.

    A program that is known to speak ACP is asked to, unless ``flags`` say how else it is to be started.
    """
    file_name = re.split(r"[/\\]", command.strip())[-1].lower()
    stem = _LAUNCHER_SUFFIX.sub("", file_name)
    if stem in known_agents():
        return stem
    return ACP if not flags and stem in acp_programs() else PLAIN


def acp_programs() -> tuple[str, ...]:
    """Those that are known to speak ACP and have no adapter of their own."""
    from ralph.adapters.agents.acp.known import known_names

    return tuple(name for name in known_names() if name not in known_agents())


def split_flags(entries: Iterable[str], *, key: str = "agent.flags") -> tuple[str, ...]:
    """Split each entry of ``agent.flags`` like a shell would: ``"--model opus"`` is two arguments."""
    arguments: list[str] = []
    for entry in entries:
        try:
            arguments += shlex.split(entry)
        except ValueError as error:
            message = f"{key}: cannot split {entry!r} into arguments: {str(error).lower()}"
            raise ConfigError(message, hint="close the quote, or escape it with a backslash") from error
    return tuple(arguments)


def adapter_for(
    name: str,
    *,
    command: str,
    flags: Sequence[str],
    as_root: bool,
    options: SessionOptions = NO_OPTIONS,
) -> AgentAdapter:
    """The adapter of a known agent. ``flags`` are arguments already split (``split_flags``)."""
    adapter = _adapter_class(name)
    _require_options(name, adapter.facts, options)
    return adapter(command=command, flags=tuple(flags), as_root=as_root, options=options)


def defined_adapter(
    definition: AgentDefinition,
    *,
    flags: Sequence[str] = (),
    as_root: bool,
    options: SessionOptions = NO_OPTIONS,
) -> AgentAdapter:
    """The adapter of an agent that the settings describe. ``flags`` come behind its own."""
    from ralph.adapters.agents.defined import DefinedAdapter

    _require_options(definition.name, facts_of(definition.adapter or PLAIN), options)
    return DefinedAdapter(definition, flags=flags, as_root=as_root, options=options)


def _require_options(name: str, facts: AgentFacts, options: SessionOptions) -> None:
    for option in options.wanted:
        if option not in facts.options:
            able = ", ".join(
                other for other in known_agents() if other != ACP and option in facts_of(other).options
            )
            message = f"agent.{option}: {name} does not support it"
            raise ConfigError(message, hint=f"remove it, or use an agent that does: {able}")
