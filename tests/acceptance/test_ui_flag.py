"""``ralph run --ui``: the terminal UI over a run that goes on without it."""

from __future__ import annotations

import re
import sys

import pexpect
import pytest

from .conftest import DONE, PROMPT, Project
from .running import wait_for

WAIT = "touch started; while [ ! -e go ]; do sleep 0.05; done"


def open_ui(project: Project, *arguments: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        ["-m", "ralph", "run", "-p", PROMPT, *arguments, "--ui"],
        cwd=str(project.root),
        env={**project.env(), "TERM": "xterm-256color"},
        encoding="utf-8",
        dimensions=(24, 80),
        timeout=90,
    )


def test_quitting_the_ui_leaves_the_run_going(project: Project) -> None:
    same = (
        'test -z "$PYTHONSAFEPATH"'  # what is run under the UI has the user's environment, and nothing added
    )
    project.settings(agent={"command": "claude"}, guardrails=[{"command": same}])
    project.agent([{"run": WAIT}, {"say": DONE}])
    screen = open_ui(project)
    try:
        wait_for((project.root / "started").exists, "the agent's start")
        screen.expect("Quit")
        screen.send("q")
        screen.expect(r"run (\S+) keeps running")
        match = screen.match
        assert isinstance(match, re.Match)
        run_id = match[1]
        screen.expect(pexpect.EOF)
    finally:
        screen.close(force=True)
    assert screen.exitstatus == 0
    (project.root / "go").touch()
    wait_for(lambda: project.rows("SELECT outcome FROM runs") == [("completed",)], f"the end of run {run_id}")


def test_what_is_wrong_with_the_command_is_told_without_a_screen(project: Project) -> None:
    project.settings(agent={"command": "nobody-has-this-agent"})
    screen = open_ui(project)
    screen.expect("agent not found|nobody-has-this-agent")
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus in (2, 4)
    assert not list((project.root / ".ralph").glob("detached-*"))


@pytest.mark.parametrize("command", [("run", "-p", PROMPT), ("work",), ("plan", "run")])
def test_without_a_terminal_there_is_no_ui(project: Project, command: tuple[str, ...]) -> None:
    project.settings(agent={"command": "claude"})
    ran = project.ralph(*command, "--ui", check=2)
    assert "--ui needs a terminal" in ran.stderr
