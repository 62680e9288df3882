"""The guard as a hook: the rules are those of ``ralph.guard``; this is what the hook reads and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .hook_events import asked

FORCE = "git push --force"


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".ralph").mkdir(parents=True)
    return folder


def reason(project: Path, command: object, tool: str = "Bash", **more: Any) -> str:
    more.setdefault("environ", {"RALPH_TRUST": "1"})
    answer = asked("guard", project, tool_name=tool, tool_input={"command": command}, **more)
    if answer is None:
        return ""
    decision = answer["hookSpecificOutput"]
    assert decision["hookEventName"] == "PreToolUse"
    assert decision["permissionDecision"] == "deny"
    return str(decision["permissionDecisionReason"])


def settings(project: Path, value: object, name: str = "settings.json") -> None:
    (project / ".ralph" / name).write_text(value if isinstance(value, str) else json.dumps(value))


def test_a_dangerous_command_is_refused_with_what_to_do_instead(project: Path) -> None:
    assert "Instead:" in reason(project, "rm -rf /")
    assert reason(project, "cd /tmp && sudo rm -rf --no-preserve-root /")


def test_a_harmless_command_is_not_even_answered(project: Path) -> None:
    assert reason(project, "git status && ls -la") == ""


@pytest.mark.parametrize("command", [None, 5, ["rm"], {"a": 1}])
def test_a_shell_call_that_cannot_be_read_is_refused(project: Path, command: object) -> None:
    assert "not a string" in reason(project, command)


def test_another_tool_without_a_command_is_none_of_its_business(project: Path) -> None:
    assert reason(project, None, tool="Monitor") == ""
    assert reason(project, "rm -rf /", tool="Monitor")


def test_the_projects_settings_allow_commands_and_choose_packs(project: Path) -> None:
    assert reason(project, FORCE)
    settings(project, {"guard": {"allow": [FORCE]}})
    assert reason(project, FORCE) == ""
    settings(project, {"guard": {"allow": []}}, "settings.local.json")
    assert reason(project, FORCE)
    assert reason(project, "npm publish") == ""
    settings(project, {"guard": {"packs": ["publish"]}})
    assert reason(project, "npm publish")


def test_a_project_that_is_not_trusted_may_only_tighten(project: Path) -> None:
    settings(project, {"guard": {"allow": [FORCE], "packs": ["all"]}})
    assert reason(project, FORCE, environ={})
    own = project.parent / ".config" / "ralph"
    own.mkdir(parents=True)
    settings_of_user = {"guard": {"allow": [FORCE]}}
    (own / "settings.json").write_text(json.dumps(settings_of_user))
    assert reason(project, FORCE, environ={"HOME": str(project.parent)}) == ""
    settings(project, {"guard": {"allow": []}})
    assert reason(project, FORCE, environ={"HOME": str(project.parent)})


def test_settings_are_found_from_below(project: Path) -> None:
    settings(project, {"guard": {"allow": [FORCE]}})
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert reason(below, FORCE) == ""


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"guard": 5}', '{"guard": {"allow": "git push --force"}}', '{"guard": {"allow": [1]}}'],
)
def test_settings_that_cannot_be_understood_allow_nothing(project: Path, content: str) -> None:
    settings(project, content)
    assert reason(project, FORCE)
    assert reason(project, "ls") == ""
