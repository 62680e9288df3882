"""ralph is killed at every point where it writes to its journal; the next command goes on as if nothing had been."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from .conftest import DONE, PROMPT, Project
from .running import kinds

# Dies by SIGKILL just before, or just after, the n-th time the journal is touched. Only the test does this.
DRIVER = """
import os, signal, sys
from ralph.adapters.storage import journal
from ralph.interfaces.cli.main import main

point = int(sys.argv[1])
touched = 0

def deadly(method):
    def wrapped(*args, **kwargs):
        global touched
        touched += 1
        if touched == point:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*args, **kwargs)
        touched += 1
        if touched == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return wrapped

for name in ("begin", "take_up", "open_session", "append", "commit"):
    setattr(journal.SqliteJournal, name, deadly(getattr(journal.SqliteJournal, name)))
sys.exit(main(sys.argv[2:]))
"""

POINTS = 62
"""One more than the run has: without a kill nothing else happens."""
IN_SECOND_SESSION = 36
"""It started, and nothing of it is judged."""
RESUMED_POINTS = 36
"""One more than a run has that was killed there and goes on."""


@pytest.mark.slow
@pytest.mark.parametrize("point", range(1, POINTS))
def test_a_kill_at_any_point_of_the_journal_changes_nothing_in_the_end(project: Project, point: int) -> None:
    prepare(project)
    ralph_that_dies(project, point, "run", "-p", PROMPT, "-m", "2")
    known = (project.root / ".ralph" / "ralph.db").exists() and project.rows("SELECT id FROM runs")
    if not known:
        project.ralph("run", "-p", PROMPT, "-m", "2", check=0)
    elif "run_ended" not in kinds(project):
        project.ralph("resume", check=0)

    assert_all_is_well(project)


@pytest.mark.slow
@pytest.mark.parametrize("point", range(1, RESUMED_POINTS))
def test_a_resume_may_be_killed_at_any_point_too(project: Project, point: int) -> None:
    prepare(project)
    ralph_that_dies(project, IN_SECOND_SESSION, "run", "-p", PROMPT, "-m", "2")
    ralph_that_dies(project, point, "resume")
    if "run_ended" not in kinds(project):
        project.ralph("resume", check=0)
    assert_all_is_well(project)


def prepare(project: Project) -> None:
    project.settings(agent={"command": "./agent.sh"}, guardrails=[{"command": "test -f made"}])
    agent = project.root / "agent.sh"
    agent.write_text(f"#!/bin/sh\ncat >/dev/null\n[ $RALPH_ITERATION -lt 2 ] || touch made\necho '{DONE}'\n")
    agent.chmod(0o755)


def ralph_that_dies(project: Project, point: int, *arguments: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER, str(point), *arguments],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode in (0, -9), ran.stderr


def assert_all_is_well(project: Project) -> None:
    ((outcome, state),) = project.rows("SELECT outcome, state FROM runs")
    assert outcome == "completed"
    assert json.loads(state)["iteration"] == 2
    judged = project.rows("SELECT iteration FROM iterations WHERE decision IS NOT NULL ORDER BY iteration")
    assert judged == [(1,), (2,)]
    assert 'Guardrail "test -f made" failed' in project.prompt(2)
    assert project.rows("PRAGMA integrity_check") == [("ok",)]
