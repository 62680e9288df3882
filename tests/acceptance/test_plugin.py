"""The plugin as it is shipped: hook.sh with the one built file, the scripts, the manifests, ``ralph plugin``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ralph
from ralph.interfaces.hooks.build import TARGET
from tests.plan_documents import story_json, tasks_json

from .conftest import Project

PLUGIN = TARGET.parents[1]
HOOK = PLUGIN / "hooks" / "hook.sh"
USAGE = 2


def hook(
    project: Project, name: str, event: dict[str, Any] | str, *, script: Path = HOOK, **environment: str
) -> subprocess.CompletedProcess[str]:
    given = (
        {"session_id": "a-session", "cwd": str(project.root), **event} if isinstance(event, dict) else event
    )
    variables = {
        "CLAUDE_HOOKS_PYTHON": sys.executable,
        "CLAUDE_PROJECT_DIR": str(project.root),
        "TMPDIR": str(project.programs),
        **environment,
    }
    return subprocess.run(
        ["/bin/sh", str(script), name],
        input=given if isinstance(given, str) else json.dumps(given),
        env=project.env(**variables),
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def answer(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    found: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {}
    return found


def bash(command: str) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}


def decision(ran: subprocess.CompletedProcess[str]) -> str:
    return str(answer(ran).get("hookSpecificOutput", {}).get("permissionDecision", ""))


# --- the hooks ---------------------------------------------------------------------------------------------


def test_the_guard_refuses_and_allows(project: Project) -> None:
    assert decision(hook(project, "guard", bash("rm -rf /"))) == "deny"
    assert decision(hook(project, "guard", bash("git status"))) == ""


def test_the_context_monitor_tells_each_threshold_once(project: Project) -> None:
    transcript = project.root / "t.jsonl"
    transcript.write_text("x" * 500_000)
    event = {"hook_event_name": "PostToolUse", "transcript_path": str(transcript)}
    output = answer(hook(project, "context", event))["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUse"
    assert output["additionalContext"].startswith("[NOTICE] Context usage: about 62%")
    assert answer(hook(project, "context", event)) == {}
    assert answer(hook(project, "session", {"hook_event_name": "SessionStart"})) == {}
    assert answer(hook(project, "context", event))


def test_a_self_approved_story_is_refused_in_a_session_of_the_run(project: Project) -> None:
    snapshot = {"US-001": {"passes": False, "reviewStatus": None, "reviewCount": 0}}
    marker = {"pid": os.getpid(), "iterationMode": "implement", "preIterationSnapshot": snapshot}
    (project.root / ".ralph-active").write_text(json.dumps(marker))
    (project.root / "ralph").mkdir()
    story = story_json(passes=True, reviewStatus="approved", notes="it is good")
    (project.root / "ralph" / "tasks.json").write_text(json.dumps(tasks_json(story)))
    refused = answer(hook(project, "stop", {"hook_event_name": "Stop"}))
    assert refused["decision"] == "block"
    assert "Story US-001 had illegal transition: passes false → true." in refused["reason"]


def test_a_loop_in_a_session_is_one_that_ralph_knows(project: Project) -> None:
    answer(hook(project, "prompt", {"prompt": "/ralph:loop Build it"}))
    state = ralph.read_ralph_loop_state(root=project.root)
    assert state is not None
    assert state.prompt == "Build it"
    going_on = answer(hook(project, "stop", {"last_assistant_message": "no"}))
    assert going_on["decision"] == "block"
    assert "Build it" in going_on["reason"]
    assert "systemMessage" in answer(
        hook(project, "stop", {"last_assistant_message": "<promise>DONE</promise>"})
    )
    assert not ralph.is_ralph_loop_active(root=project.root)


# --- failing open and closed -------------------------------------------------------------------------------

BAD_EVENTS = ["", "{", "[]", "null", '"x"', "\x00", "[" * 100_000]


@pytest.mark.parametrize("event", BAD_EVENTS)
def test_an_event_that_cannot_be_read_refuses_tools_and_nothing_else(project: Project, event: str) -> None:
    ran = hook(project, "guard", event)
    assert ran.returncode == 2
    assert "ralph: the hook 'guard' failed: the event is not" in ran.stderr
    assert "Traceback" not in ran.stderr
    for name in ("stop", "context", "prompt", "session"):
        ran = hook(project, name, event)
        assert ran.returncode == 1
        assert ran.stdout == ""
        assert "Traceback" not in ran.stderr


def test_an_unknown_hook_is_said_to_be_one(project: Project) -> None:
    ran = hook(project, "nonsense", {})
    assert ran.returncode == 1
    assert "there is no such hook" in ran.stderr


def test_a_python_that_dies_refuses_tools_and_nothing_else(project: Project) -> None:
    dying = project.program("dying", "kill -9 $$\n")
    assert hook(project, "guard", bash("ls"), CLAUDE_HOOKS_PYTHON=str(dying)).returncode == 2
    assert hook(project, "stop", {}, CLAUDE_HOOKS_PYTHON=str(dying)).returncode == 1


def test_an_old_python_is_passed_over_for_a_newer_one(project: Project) -> None:
    project.program("python3", "exit 90\n")
    project.program("python3.14", f'exec {sys.executable} "$@"\n')
    ran = hook(project, "guard", bash("rm -rf /"), CLAUDE_HOOKS_PYTHON="")
    assert decision(ran) == "deny"


def test_it_is_said_clearly_that_python_is_too_old(project: Project) -> None:
    project.program("python3", "exit 90\n")
    path = str(project.programs)
    ran = hook(project, "guard", bash("ls"), PATH=path, CLAUDE_HOOKS_PYTHON="")
    assert ran.returncode == 2
    assert "need Python 3.11 or newer, found: python3" in ran.stderr
    assert hook(project, "stop", {}, PATH=path, CLAUDE_HOOKS_PYTHON="").returncode == 1
    (project.programs / "python3").unlink()
    assert "found: none" in hook(project, "guard", bash("ls"), PATH=path, CLAUDE_HOOKS_PYTHON="").stderr


def test_the_launcher_says_so_in_words_that_any_python_understands() -> None:
    """An old Python must be able to read the file up to its verdict, and the rest of it as well."""
    source = (PLUGIN / "hooks" / "launch.py").read_text()
    compile(source, "launch.py", "exec")
    assert "f'" not in source
    assert 'f"' not in source
    assert "sys.version_info < (3, 11)" in source


def test_the_plugin_works_from_any_folder_and_keeps_itself_compiled(project: Project, tmp_path: Path) -> None:
    copy = tmp_path / "a folder with spaces" / "plugin"
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert decision(hook(project, "guard", bash("rm -rf /"), script=copy / "hooks" / "hook.sh")) == "deny"
    assert list((copy / "hooks" / "__pycache__").glob("ralph_hooks.*.pyc"))


def test_the_surroundings_cannot_put_another_module_in_its_place(project: Project) -> None:
    (project.root / "json.py").write_text("raise SystemExit(0)\n")
    (project.root / "ralph_hooks.py").write_text("def main(arguments):\n    return 0\n")
    ran = hook(
        project, "guard", bash("rm -rf /"), PYTHONPATH=str(project.root), PYTHONSTARTUP="x", PYTHONHOME=""
    )
    assert decision(ran) == "deny"


# --- manifests, scripts, texts -----------------------------------------------------------------------------


def test_the_manifests_name_this_version_and_every_hook_exists() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((PLUGIN.parent / ".claude-plugin" / "marketplace.json").read_text())
    assert manifest["name"] == market["plugins"][0]["name"] == "ralph"
    assert manifest["version"] == market["plugins"][0]["version"] == ralph.__version__
    assert (PLUGIN.parent / market["plugins"][0]["source"]).samefile(PLUGIN)
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    commands = [one["command"] for entries in hooks.values() for entry in entries for one in entry["hooks"]]
    assert {command.rpartition(" ")[2] for command in commands} == {
        "session",
        "prompt",
        "guard",
        "context",
        "stop",
    }
    assert {command.rpartition(" ")[0] for command in commands} == {
        'sh "${CLAUDE_PLUGIN_ROOT}/hooks/hook.sh"'
    }


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ("ralph.sh", ["plan", "run"]),
        ("ralph-init.sh", ["plan", "new"]),
        ("ralph-archive.sh", ["plan", "archive"]),
    ],
)
def test_the_scripts_are_ralph_plan(project: Project, script: str, command: list[str]) -> None:
    path = PLUGIN / "scripts" / script
    arguments = ["--project-dir", "a b", "-n", "3"]
    without = subprocess.run(
        ["/bin/sh", str(path), *arguments],
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert without.returncode == 4
    assert "the ralph command is not installed" in without.stderr
    project.program("ralph", "printf '%s\\n' \"$@\"\n")
    ran = subprocess.run(
        ["/bin/sh", str(path), *arguments],
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.splitlines() == [*command, *arguments]


def test_ralph_init_sh_starts_a_plan(project: Project) -> None:
    project.program("ralph", f'exec {sys.executable} -m ralph "$@"\n')
    arguments = ["--project-dir", str(project.root), "--name", "search"]
    ran = subprocess.run(
        ["/bin/sh", str(PLUGIN / "scripts" / "ralph-init.sh"), *arguments],
        env=project.env(), capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    tasks = json.loads((project.root / "ralph" / "tasks.json").read_text())
    assert tasks["branchName"] == "ralph/search"


@pytest.mark.parametrize("skill", ["ralph-plan", "ralph-tasks"])
def test_a_skill_says_what_it_is_called_and_when_to_use_it(skill: str) -> None:
    text = (PLUGIN / "skills" / skill / "SKILL.md").read_text()
    assert text.startswith(f"---\nname: {skill}\ndescription: ")


def test_the_plan_skill_has_both_modes_the_rules_and_the_phrases() -> None:
    text = (PLUGIN / "skills" / "ralph-plan" / "SKILL.md").read_text()
    for phrase in (
        "/ralph-plan",
        "plan this feature for ralph",
        "create a ralph prd",
        "generate tasks for ralph",
    ):
        assert phrase in text.partition("---\n\n")[0]
    for part in ("Mode 1", "Mode 2", "dependsOn", "verifyCommands", "schema and database → backend logic"):
        assert part in text
    example = text.partition("```json\n")[2].partition("```")[0]
    assert json.loads(example)["userStories"][0].keys() == story_json().keys()


def test_the_example_of_the_task_skill_is_one_that_ralph_reads(project: Project) -> None:
    text = (PLUGIN / "skills" / "ralph-tasks" / "SKILL.md").read_text()
    example = text.partition("```yaml\n")[2].partition("```")[0]
    project.ralph("task", "add", "-f", "-", "--spec", "auth", "--dry-run", stdin=example, check=0)


# --- ralph plugin ------------------------------------------------------------------------------------------


def test_path_is_the_plugins(project: Project) -> None:
    assert Path(project.ralph("plugin", "path", check=0).stdout.strip()).samefile(PLUGIN)


def test_check_asks_the_hooks_and_claude_code(project: Project) -> None:
    project.program("claude", "exit 0\n")
    out = project.ralph("plugin", "check", check=0, CLAUDE_HOOKS_PYTHON=sys.executable).stdout
    assert "BAD" not in out
    assert "the guard refuses a dangerous command" in out
    assert "Claude Code accepts it" in out
    project.program("claude", "echo broken; exit 1\n")
    out = project.ralph("plugin", "check", check=USAGE, CLAUDE_HOOKS_PYTHON="false").stdout
    assert "BAD  the guard allows a harmless one: no" in out
    assert "BAD  Claude Code: broken" in out


def test_install_uses_claude_codes_own_commands(project: Project) -> None:
    log = project.root / "log"
    project.program("claude", f'echo "$@" >> {log}\n')
    out = project.ralph("plugin", "install", "--scope", "project", check=0).stdout
    assert "installed for project scope" in out
    assert log.read_text().splitlines() == [
        f"plugin marketplace add {PLUGIN.parent} --scope project",
        "plugin install ralph@ralph --scope project",
    ]


def test_install_says_what_claude_code_did_not_like(project: Project) -> None:
    project.program("claude", "echo 'no such thing' >&2; exit 1\n")
    ran = project.ralph("plugin", "install", check=4)
    assert "`claude plugin marketplace` failed: no such thing" in ran.stderr
    assert "by hand" in ran.stderr
