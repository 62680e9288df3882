"""Which agents there are, and how to get an adapter for one. A new agent is one row here and one module."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

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


_ROWS: Final[Mapping[str, _Row]] = {
    "claude": _Row("claude", "ClaudeAdapter", "npm install -g @anthropic-ai/claude-code"),
    "codex": _Row("codex", "CodexAdapter", "npm install -g @openai/codex"),
    "amp": _Row("amp", "AmpAdapter", "npm install -g @sourcegraph/amp"),
    PLAIN: _Row("plain", "PlainAdapter", "install it, or give its full path as agent.command"),
}

KNOWN_AGENTS: Final[Mapping[str, str]] = {name: row.install for name, row in _ROWS.items()}
"""Agent → how to install it, in one line."""

_LAUNCHER_SUFFIX = re.compile(r"\.(?:cmd|exe|bat|ps1)$")


def infer(command: str) -> str:
    """The agent that a command starts, by its file name: ``/usr/bin/claude`` and ``claude.cmd`` are claude."""
    file_name = re.split(r"[/\\]", command.strip())[-1].lower()
    stem = _LAUNCHER_SUFFIX.sub("", file_name)
    return stem if stem in _ROWS else PLAIN


def split_flags(entries: Iterable[str]) -> tuple[str, ...]:
    """Split each entry of ``agent.flags`` like a shell would: ``"--model opus"`` is two arguments."""
    arguments: list[str] = []
    for entry in entries:
        try:
            arguments += shlex.split(entry)
        except ValueError as error:
            message = f"agent.flags: cannot split {entry!r} into arguments: {str(error).lower()}"
            raise ConfigError(message, hint="close the quote, or escape it with a backslash") from error
    return tuple(arguments)


def adapter_for(name: str, *, command: str, flags: Sequence[str], as_root: bool) -> AgentAdapter:
    """The adapter of a known agent. ``flags`` are arguments already split (``split_flags``)."""
    row = _ROWS.get(name)
    if row is None:
        message = f"unknown agent {name!r}"
        raise ConfigError(message, hint=f"known agents: {', '.join(_ROWS)}")
    module = import_module(f"{__package__}.{row.module}")
    adapter = getattr(module, row.adapter)(command=command, flags=tuple(flags), as_root=as_root)
    return cast("AgentAdapter", adapter)
