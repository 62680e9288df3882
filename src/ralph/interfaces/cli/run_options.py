"""Flags that several commands have, as settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph.config.loading import inspect
from ralph.config.sources import Flag


def agent_flags_of(
    state: Path, agent: str | None, agent_flags: Sequence[str] = (), guardrails: Sequence[str] = ()
) -> list[Flag]:
    """What adds to lists in the settings. ``--agent`` names another program: their flags are not for that one."""
    if agent is None and not agent_flags and not guardrails:
        return []
    values = inspect(state, environ=os.environ).merged.values
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
