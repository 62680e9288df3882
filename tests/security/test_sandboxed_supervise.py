"""``ralph supervise --sandbox`` with the real bubblewrap: the task folder is the way out, and the only one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project

from .test_sandboxed_run import needs_bwrap

pytestmark = needs_bwrap
RALPH = f"{sys.executable} -m ralph"


def supervise(project: Project, body: str, *arguments: str, check: int) -> str:
    agent = project.program("agent.sh", body)
    usual = ("--task", "t", "--restart-delay", "0", "--max-restarts", "3", "--sandbox")
    ran = project.ralph("supervise", *usual, *arguments, "--", str(agent), check=check)
    return ran.stderr


def bodies(project: Project, *which: str) -> list[str]:
    out = project.ralph("bus", "read", "--json", "--type", "NEWS", *which, check=0).stdout
    return [json.loads(line)["body"] for line in out.splitlines()]


def task(project: Project) -> Path:
    return project.root / ".ralph" / "tasks" / "t"


def test_done_and_messages_come_out_and_nothing_else_can_be_written(project: Project) -> None:
    body = f"""
{RALPH} bus post --type NEWS "task $RALPH_ATTEMPT" || exit 9
{RALPH} bus post --type NEWS --project-bus "project $RALPH_ATTEMPT" || exit 9
echo x > .ralph/PROJECT-MESSAGE-BUS.md
echo x > "$RUN_FOLDER/x"
[ "$RALPH_ATTEMPT" = 1 ] && : > "$TASK_FOLDER/DONE"
exit 0
"""
    supervise(project, body, check=0)

    assert bodies(project, "--task", "t") == ["task 0", "task 1"]
    assert bodies(project, "--project-bus") == ["project 0", "project 1"]
    assert list((task(project) / "outbox").iterdir()) == []
    assert not list((project.root / ".ralph" / "runs").glob("*/x"))


@pytest.mark.parametrize(
    "waiting",
    [
        "exit 42",
        ': > "$TASK_FOLDER/WAIT_WITHOUT_RESTART"',
        f"{RALPH} bus post --type wait_without_restart 'for a key'",
    ],
)
def test_an_agent_in_a_sandbox_can_say_that_it_waits(project: Project, waiting: str) -> None:
    body = f'[ "$RALPH_ATTEMPT" = 1 ] && : > "$TASK_FOLDER/DONE" && exit\n{waiting}\n'
    assert "Wait-without-restart signal detected" in supervise(project, body, check=5)
    project.ralph("resume", check=0)


def test_the_task_folder_is_found_also_if_a_link_leads_to_it(project: Project, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    supervise(project, ': > "$TASK_FOLDER/DONE"\n', "--task-dir", str(tmp_path / "link" / "t"), check=0)
    assert (tmp_path / "real" / "t" / "DONE").exists()


@pytest.mark.parametrize("place", ["/", "..", ".ralph", "~"])
def test_a_task_folder_that_would_open_the_sandbox_is_refused(project: Project, place: str) -> None:
    folder = str(Path(place).expanduser())
    said = supervise(project, "exit 9\n", "--task-dir", folder, check=2)
    assert "a sandbox that may write there confines nothing" in said


def test_child_runs_that_end_with_the_sandbox_are_named(project: Project) -> None:
    body = """
mkdir -p "$TASK_FOLDER/children"
echo '{}' > "$TASK_FOLDER/children/20260101-000000-abcd.json"
: > "$TASK_FOLDER/DONE"
"""
    said = supervise(project, body, check=0)
    assert "child runs ended with the sandbox of the agent that started them: 20260101-000000-abcd" in said
    assert list((task(project) / "children").iterdir()) == []
