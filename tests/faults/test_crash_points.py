"""ralph dies at every point where it writes to its journal; the next command goes on as if nothing had been.

One run, which nobody kills, leaves a copy of its folder at every point, unless nothing in it changed since the last: just
what a kill would have left there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project
from tests.acceptance.running import kinds

# Just before and just after each time that the journal is touched: copies the folder, or dies by SIGKILL at one point.
DRIVER = """
import os, shutil, signal, sys
from pathlib import Path
from ralph.adapters.storage import journal
from ralph.interfaces.cli.main import main

copies, deadly = sys.argv[1], int(sys.argv[2])
point, before = 0, {}

def reach():
    global point, before
    point += 1
    if point == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    now = {file: file.read_bytes() for file in Path().rglob("*") if file.is_file() and not file.name.endswith("-shm")}
    if copies and now != before:
        shutil.copytree(".", Path(copies, f"{point:03}"), symlinks=True)
        before = now

def watched(method):
    def wrapped(*args, **kwargs):
        reach()
        result = method(*args, **kwargs)
        reach()
        return result
    return wrapped

for name in ("begin", "take_up", "open_session", "append", "flush", "commit"):
    setattr(journal.SqliteJournal, name, watched(getattr(journal.SqliteJournal, name)))
sys.exit(main(sys.argv[3:]))
"""

RUN = ("run", "-p", PROMPT, "-m", "3")
SHARES = 6
"""Parts of the points, so that no test is long."""

copied: dict[str, list[Path]] = {}
"""The copies that this process has made, by what they are of."""


@pytest.fixture
def history(project: Project, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folder at each point of the run. Made once: it takes longer than any resume."""
    if "run" not in copied:
        prepare(project)
        copied["run"] = drive(project, *RUN, copies=tmp_path_factory.mktemp("run"))
    return copied["run"]


@pytest.fixture
def resumed_history(
    project: Project, history: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The same of a resume of what died in its second session."""
    if "resume" not in copied:
        for died in history:
            restore(project, died)
            if is_recorded(project) and kinds(project).count("iteration_started") == 2:
                break
        copied["resume"] = drive(project, "resume", copies=tmp_path_factory.mktemp("resume"))
    return copied["resume"]


@pytest.mark.parametrize("share", range(SHARES))
def test_a_death_at_any_point_of_the_journal_changes_nothing_in_the_end(
    project: Project, history: list[Path], share: int
) -> None:
    assert len(history) > 20
    for died in history[share::SHARES]:
        restore(project, died)
        go_on(project)
        assert_all_is_well(project)


@pytest.mark.parametrize("share", range(SHARES))
def test_a_resume_may_die_at_any_point_too(project: Project, resumed_history: list[Path], share: int) -> None:
    assert len(resumed_history) > 10
    for died in resumed_history[share::SHARES]:
        restore(project, died)
        go_on(project)
        assert_all_is_well(project)


@pytest.mark.parametrize("point", [1, 36, 61])
def test_a_kill_changes_nothing_either(project: Project, point: int) -> None:
    prepare(project)
    drive(project, *RUN, deadly=point)
    go_on(project)
    assert_all_is_well(project)


def restore(project: Project, died: Path) -> None:
    print(f"died at point {died.name}")
    shutil.rmtree(project.root)
    shutil.copytree(died, project.root, symlinks=True)


def is_recorded(project: Project) -> bool:
    return (project.root / ".ralph" / "ralph.db").exists() and bool(project.rows("SELECT id FROM runs"))


def go_on(project: Project) -> None:
    """With the command that a user would give."""
    if not is_recorded(project):
        project.ralph(*RUN, check=0)
    elif "run_ended" not in kinds(project):
        project.ralph("resume", check=0)


def prepare(project: Project) -> None:
    project.settings(agent={"command": "./agent.sh"}, guardrails=[{"command": "test -f made"}])
    agent = project.root / "agent.sh"
    agent.write_text(f"#!/bin/sh\ncat >/dev/null\n[ $RALPH_ITERATION -lt 3 ] || touch made\necho '{DONE}'\n")
    agent.chmod(0o755)


def drive(project: Project, *arguments: str, copies: Path | None = None, deadly: int = 0) -> list[Path]:
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER, str(copies or ""), str(deadly), *arguments],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == (-9 if deadly else 0), ran.stderr
    return sorted(copies.iterdir()) if copies else []


def assert_all_is_well(project: Project) -> None:
    ((outcome, state),) = project.rows("SELECT outcome, state FROM runs")
    assert outcome == "completed"
    assert json.loads(state)["iteration"] == 3
    judged = project.rows("SELECT iteration FROM iterations WHERE decision IS NOT NULL ORDER BY iteration")
    assert judged == [(1,), (2,), (3,)]
    for number in (2, 3):
        assert 'Guardrail "test -f made" failed' in project.prompt(number)
    assert project.rows("PRAGMA integrity_check") == [("ok",)]
