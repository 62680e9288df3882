"""PreToolUse: refuses dangerous shell commands. Fails closed: a command that cannot be judged does not run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ralph.guard.guard import judge
from ralph.guard.judgement import GuardRules
from ralph.interfaces.hooks.places import STATE_FOLDER, own_settings, settings_of
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
    """``guard.allow`` and ``guard.packs`` of the user and of the project; unreadable settings allow nothing.

    A project may tighten what the user chose, and loosen it once the user trusts it.
    """
    own = _guard_settings(read_whole(own_settings(event.environ), LARGEST_SETTINGS))
    project = settings_of(event.starts[0], event.environ) if event.starts else None
    wanted: dict[str, list[str]] = {}
    for name in SETTINGS if project is not None else ():
        wanted |= _guard_settings(read_whole(f"{project}/{STATE_FOLDER}/{name}", LARGEST_SETTINGS))
    allow, packs = own.get("allow", []), own.get("packs", [])
    if project is not None and wanted:
        allow = _chosen(
            event, project, wanted, "allow", allow, is_free=set(wanted.get("allow", [])) <= set(allow)
        )
        is_stricter = set(wanted.get("packs", [])) >= set(packs)
        packs = _chosen(event, project, wanted, "packs", packs, is_free=is_stricter)
    cwd = event.text("cwd")
    return GuardRules(tuple(allow), frozenset(packs), cwd if cwd.startswith("/") else "")


def _chosen(
    event: HookEvent, project: str, wanted: dict[str, list[str]], key: str, own: list[str], *, is_free: bool
) -> list[str]:
    if key not in wanted:
        return own
    if is_free:
        return wanted[key]
    from ralph.operations.agreement import Demand, is_agreed

    demand = Demand("", wanted[key], f"guard.{key}", "", wanted)
    return wanted[key] if is_agreed(project, demand, event.environ) else own


def _guard_settings(data: bytes | None) -> dict[str, list[str]]:
    """The lists as they are written; one with anything but texts is not there."""
    try:
        settings = json.loads(data.decode("utf-8-sig")) if data else None
    except (ValueError, RecursionError):
        return {}
    guard = settings.get("guard") if isinstance(settings, dict) else None
    if not isinstance(guard, dict):
        return {}
    lists = {key: guard[key] for key in ("allow", "packs") if isinstance(guard.get(key), list)}
    return {
        key: items for key, items in lists.items() if all(isinstance(item, str) and item for item in items)
    }
