"""Flags that several commands have, as settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ralph.domain.sandbox.kind import ASKABLE, STRONGEST
from ralph.errors import UsageError

if TYPE_CHECKING:
    from ralph.config.loading import Loaded, Sources
    from ralph.config.sources import Flag


def sandbox_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--sandbox[=KIND]`` and ``--no-sandbox``."""
    function = click.option(
        "--no-sandbox", is_flag=True, help="Let the agent do whatever you can; a hook may still guard it."
    )(function)
    return click.option(
        "--sandbox",
        is_flag=False,
        flag_value=STRONGEST,
        default=None,
        metavar="[KIND]",
        help="Confine the agent: auto, sbx, bwrap, container, srt or none; without a value, the strongest available.",
    )(function)


def sandbox_flags(sandbox: str | None, no_sandbox: bool) -> list[Flag]:
    if sandbox is not None and no_sandbox:
        message = "--sandbox and --no-sandbox contradict each other"
        raise UsageError(message, hint="give one of them")
    if no_sandbox:
        return [(("sandbox", "kind"), "none", "--no-sandbox")]
    if sandbox is None:
        return []
    if sandbox not in ASKABLE:
        message = f"--sandbox: there is no sandbox {sandbox!r}"
        raise UsageError(message, hint=f"use one of {', '.join(ASKABLE)}")
    return [(("sandbox", "kind"), sandbox, "--sandbox")]


def sources_of(state: Path) -> Sources:
    """The settings without any flags, read once: some flags add to what they say."""
    from ralph.config.loading import Sources

    return Sources.read(state, os.environ)


def load_with(sources: Sources, flags: Sequence[Flag]) -> Loaded:
    """The settings with the flags laid over them; their warnings go to the user."""
    loaded = sources.load(flags)
    for warning in loaded.warnings:
        print(f"ralph: warning: {warning}", file=sys.stderr)
    return loaded


def agent_flags_of(
    sources: Sources, agent: str | None, agent_flags: Sequence[str] = (), guardrails: Sequence[str] = ()
) -> list[Flag]:
    """What adds to lists in the settings. ``--agent`` names another program: their flags are not for that one."""
    if agent is None and not agent_flags and not guardrails:
        return []
    values = sources.merged.values
    flags: list[Flag] = []
    configured = values.get("agent")
    kept = _list(configured, "flags")
    if agent is not None:
        agent, *others = (name.strip() for name in agent.split(","))
        flags.append((("agent", "command"), agent, "--agent"))
        flags.append((("agent", "fallbacks"), others, "--agent"))
        if isinstance(configured, dict) and configured.get("command") != agent:
            flags.append((("agent", "adapter"), None, "--agent"))
            kept = []
    if agent is not None or agent_flags:
        flags.append((("agent", "flags"), [*kept, *agent_flags], "--agent-flag"))
    if guardrails:
        added = [{"command": guardrail} for guardrail in guardrails]
        flags.append((("guardrails",), [*_list(values, "guardrails"), *added], "--guardrail"))
    return flags


def _list(values: object, key: str) -> list[object]:
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, list) else []
