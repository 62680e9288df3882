"""PreToolUse: refuses dangerous shell commands. Fails closed: a command that cannot be judged does not run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ralph.guard.guard import judge
from ralph.guard.judgement import GuardRules
from ralph.interfaces.hooks.places import STATE_FOLDER, project_of
from ralph.interfaces.hooks.protocol import deny
from ralph.operations.atomic_files import read_whole

if TYPE_CHECKING:
    from ralph.interfaces.hooks.protocol import Answer, HookEvent

SETTINGS = ("settings.json", "settings.local.json")
LARGEST_SETTINGS = 1_000_000
SHELL_TOOL = "Bash"


def guard_tool(event: HookEvent) -> Answer | None:
    given = event.fields.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str):
        is_shell = event.text("tool_name") == SHELL_TOOL
        return deny("ralph's guard: the command is not a string") if is_shell else None
    judgement = judge(command, rules_for(event))
    return deny(f"ralph's guard refuses this command: {judgement.reason}") if judgement.is_blocked else None


def rules_for(event: HookEvent) -> GuardRules:
    """``guard.allow`` and ``guard.packs`` of the project; unreadable settings allow nothing."""
    chosen: dict[str, list[str]] = {"allow": [], "packs": []}
    project = project_of(event.starts[0], event.environ) if event.starts else None
    for name in SETTINGS if project is not None else ():
        chosen |= _guard_settings(read_whole(f"{project}/{STATE_FOLDER}/{name}", LARGEST_SETTINGS))
    cwd = event.text("cwd")
    return GuardRules(tuple(chosen["allow"]), frozenset(chosen["packs"]), cwd if cwd.startswith("/") else "")


def _guard_settings(data: bytes | None) -> dict[str, list[str]]:
    try:
        settings = json.loads(data.decode("utf-8-sig")) if data else None
    except (ValueError, RecursionError):
        return {}
    guard = settings.get("guard") if isinstance(settings, dict) else None
    if not isinstance(guard, dict):
        return {}
    lists = {key: guard[key] for key in ("allow", "packs") if isinstance(guard.get(key), list)}
    return {key: [item for item in items if isinstance(item, str) and item] for key, items in lists.items()}
