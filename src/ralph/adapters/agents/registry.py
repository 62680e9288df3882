"""Which agents there are, and how to get an adapter for one. A new agent is one row here and one module."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from ralph.adapters.agents.options import NO_OPTIONS, Option, SessionOptions
from ralph.domain.agent.definition import AgentDefinition
from ralph.engine.ports import AgentAdapter
from ralph.errors import ConfigError

PLAIN: Final = "plain"
"""The adapter for any command we know nothing about."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One agent."""

    module: str  # imported only when this agent is used: a run needs one of them
    adapter: str
    install: str
    options: frozenset[Option] = frozenset()  # those its program has a way for


_ALL: Final = frozenset(Option)

_ROWS: Final[Mapping[str, _Row]] = {
    "claude": _Row("claude", "ClaudeAdapter", "npm install -g @anthropic-ai/claude-code", _ALL),
    "codex": _Row("codex", "CodexAdapter", "npm install -g @openai/codex", _ALL - {Option.MAX_TURNS}),
    "gemini": _Row("gemini", "GeminiAdapter", "npm install -g @google/gemini-cli", _ALL - {Option.MAX_TURNS}),
    "opencode": _Row("opencode", "OpencodeAdapter", "npm install -g opencode-ai", _ALL - {Option.MAX_TURNS}),
    "qwen": _Row("qwen", "QwenAdapter", "npm install -g @qwen-code/qwen-code", _ALL),
    "copilot": _Row("copilot", "CopilotAdapter", "npm install -g @github/copilot", _ALL - {Option.MAX_TURNS}),
    "amp": _Row("amp", "AmpAdapter", "npm install -g @sourcegraph/amp"),
    PLAIN: _Row(
        "plain",
        "PlainAdapter",
        "install it, or give its full path as agent.command",
        frozenset({Option.MODEL}),  # by {model} in its flags
    ),
}

KNOWN_AGENTS: Final[Mapping[str, str]] = {name: row.install for name, row in _ROWS.items()}
"""Agent → how to install it, in one line."""

_LAUNCHER_SUFFIX = re.compile(r"\.(?:cmd|exe|bat|ps1)$")


def infer(command: str) -> str:
    """The agent that a command starts, by its file name: ``/usr/bin/claude`` and ``claude.cmd`` are claude."""
    file_name = re.split(r"[/\\]", command.strip())[-1].lower()
    stem = _LAUNCHER_SUFFIX.sub("", file_name)
    return stem if stem in _ROWS else PLAIN


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
    row = _ROWS.get(name)
    if row is None:
        message = f"unknown agent {name!r}"
        raise ConfigError(message, hint=f"known agents: {', '.join(_ROWS)}")
    _require_options(name, row, options)
    module = import_module(f"{__package__}.{row.module}")
    adapter = getattr(module, row.adapter)(
        command=command, flags=tuple(flags), as_root=as_root, options=options
    )
    return cast("AgentAdapter", adapter)


def defined_adapter(
    definition: AgentDefinition,
    *,
    flags: Sequence[str] = (),
    as_root: bool,
    options: SessionOptions = NO_OPTIONS,
) -> AgentAdapter:
    """The adapter of an agent that the settings describe. ``flags`` come behind its own."""
    from ralph.adapters.agents.defined import DefinedAdapter

    # A session of an agent without an adapter cannot be told to stop after some turns, nor to go on.
    _require_options(definition.name, _ROWS.get(definition.adapter or PLAIN, _ROWS[PLAIN]), options)
    return DefinedAdapter(definition, flags=flags, as_root=as_root, options=options)


def supports(name: str, option: Option) -> bool:
    """Has the program of this agent a way for that?"""
    row = _ROWS.get(name)
    return row is not None and option in row.options


def _require_options(name: str, row: _Row, options: SessionOptions) -> None:
    for option in options.wanted:
        if option not in row.options:
            others = ", ".join(known for known, other in _ROWS.items() if option in other.options)
            message = f"agent.{option}: {name} has no way for it"
            raise ConfigError(message, hint=f"remove it, or use an agent that has: {others}")
