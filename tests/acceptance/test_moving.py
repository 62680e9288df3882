"""A project can be renamed, copied and restored: its runs resume where it is now."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project
from .running import running, wait_for
from .task_project import TaskProject
from .test_plan_run import PlanRun
from .test_resume import interrupt


def moved(project: Project, name: str = "renamed") -> Project:
    return Project(project.root.rename(project.root.with_name(name)), project.programs, project.environment)


@pytest.fixture
def cut(project: Project) -> Project:
    """A run that was killed in its second session; its prompt is a file of the project."""
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f made"}])
    (project.root / "PROMPT.md").write_text(PROMPT)
    project.agent([{"say": DONE}], [{"touch": "started"}, {"sleep": 60}], [{"touch": "made"}, {"say": DONE}])
    interrupt(project, "-f", "PROMPT.md", "-m", "3")
    return project


def test_a_renamed_project_resumes(cut: Project) -> None:
    here = moved(cut)
    assert json.loads(here.ralph("status", "--json", check=0).stdout)["runs"][0]["root"] == str(here.root)
    here.ralph("resume", check=0)
    assert (here.root / "made").exists()
    assert not cut.root.exists()


def test_a_copy_resumes_and_leaves_the_original_alone(cut: Project) -> None:
    copy = cut.root.with_name("copy")
    shutil.copytree(cut.root, copy, symlinks=True)
    cut.ralph("resume", check=0, cwd=copy)
    assert (copy / "made").exists()
    assert not (cut.root / "made").exists()
    assert cut.rows("SELECT outcome FROM runs") == [(None,)]


def test_a_record_of_an_earlier_version_with_absolute_paths_resumes_too(cut: Project) -> None:
    with closing(sqlite3.connect(cut.root / ".ralph" / "ralph.db")) as database, database:
        database.execute("UPDATE runs SET root = ?", (str(cut.root),))
    (request,) = (cut.root / ".ralph" / "runs").glob("*/request.json")
    content = json.loads(request.read_text())
    content["workspace"] = str(cut.root)
    content["arguments"]["promptFile"] = str(cut.root / "PROMPT.md")
    request.write_text(json.dumps(content))
    copy = cut.root.with_name("copy")
    shutil.copytree(cut.root, copy, symlinks=True)
    here = moved(cut)
    here.ralph("resume", check=0)
    assert (here.root / "made").exists()
    (cut.programs / "claude.json").write_text(
        json.dumps({"sessions": [[{"touch": "made"}, {"say": DONE}]] * 9})
    )
    here.ralph("resume", check=0, cwd=copy)
    assert (copy / "made").exists()


def test_a_copy_of_a_project_at_work_is_not_held(project: Project) -> None:

    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
    copy = project.root.with_name("copy")
    with running(project, "-p", PROMPT):
        wait_for((project.root / "started").exists, "the start")
        shutil.copytree(project.root, copy, symlinks=True)
        assert "is in use by" in project.ralph("run", "-p", PROMPT, check=2).stderr
        project.ralph("run", "-p", PROMPT, check=0, cwd=copy)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount")
def test_one_folder_by_two_mounts_has_one_holder(project: Project, tmp_path: Path) -> None:
    import subprocess

    other = tmp_path / "elsewhere"
    other.mkdir()
    if subprocess.run(["mount", "--bind", project.root, other], check=False, capture_output=True).returncode:
        pytest.skip("no mounts here")
    try:
        project.settings(agent={"command": "claude"})
        project.agent([{"touch": "started"}, {"sleep": 60}], [{"say": DONE}])
        with running(project, "-p", PROMPT):
            wait_for((project.root / "started").exists, "the start")
            assert "is in use by" in project.ralph("run", "-p", PROMPT, check=2, cwd=other).stderr
            project.ralph("stop", "--now", check=0, cwd=other)
    finally:
        subprocess.run(["umount", "-l", other], check=True)


def send_elsewhere(project: Project, *, silent: float) -> None:
    """As if the run had begun on another machine, and given its last sign of life so many seconds ago."""
    with closing(sqlite3.connect(project.root / ".ralph" / "ralph.db")) as database, database:
        for table in ("runs", "claims", "task_claims"):
            database.execute(f"UPDATE {table} SET host = 'elsewhere', boot_id = 'theirs'")
    for file in (project.root / ".ralph" / "runs").glob("*/elapsed"):
        at = time.time() - silent
        os.utime(file, (at, at))


@pytest.mark.parametrize("silent", [130.0, -4000.0], ids=["silent", "another clock"])
def test_a_project_that_was_copied_to_another_machine_resumes(cut: Project, silent: float) -> None:
    send_elsewhere(cut, silent=silent)
    assert "interrupted" in cut.ralph("status", check=0).stdout
    cut.ralph("resume", check=0)
    assert (cut.root / "made").exists()


def test_a_run_of_another_machine_with_a_fresh_sign_of_life_is_left_alone(cut: Project) -> None:
    send_elsewhere(cut, silent=5)
    assert "interrupted" not in cut.ralph("status", check=0).stdout
    cut.ralph("resume", check=2)
    run = json.loads(cut.ralph("status", "--json", check=0).stdout)["runs"][0]["id"]
    assert f"run {run} is under way" in cut.ralph("resume", run, check=2).stderr
    refused = cut.ralph("run", "-p", PROMPT, check=2).stderr
    assert "on elsewhere" in refused
    assert "two minutes after its last sign of life" in refused


def test_a_live_run_whose_clock_is_hours_off_is_not_taken_over(cut: Project) -> None:
    """It writes, with times long past: what counts is that it writes."""
    send_elsewhere(cut, silent=9000)
    (file,) = (cut.root / ".ralph" / "runs").glob("*/elapsed")
    over = threading.Event()

    def live() -> None:
        number = 0
        while not over.wait(0.2):
            number += 1
            with file.open("r+b") as written:
                written.write(f"{number:024.3f}\n".encode())
            os.utime(file, (1e9, 1e9))

    thread = threading.Thread(target=live)
    thread.start()
    try:
        assert "is in use by" in cut.ralph("resume", check=2).stderr
    finally:
        over.set()
        thread.join()
    cut.ralph("resume", check=0)


@pytest.mark.parametrize("way", ["rename", "copy", "machine"])
def test_work_on_tasks_resumes_in_its_worktrees(project: Project, way: str) -> None:
    """Git's worktrees hold absolute paths; what the cut-off session had written is still there."""
    world = TaskProject(project)
    again = f'[ -e "{project.programs}/cut" ]'
    world.role(
        "coder",
        f'if {again}; then test -f begun && echo made > "$RALPH_TASK_ID.txt"; else touch begun "{project.programs}/cut"; sleep 60; fi',
    )
    world.tasks({"id": "T-1"})
    with running(project, command="work"):
        wait_for((project.programs / "cut").exists, "the session")
    root = project.root.with_name("elsewhere")
    if way == "rename":
        project.root.rename(root)
    else:
        shutil.copytree(project.root, root, symlinks=True)
    here = Project(root, project.programs, project.environment)
    if way == "machine":
        send_elsewhere(here, silent=200)
    here.ralph("resume", check=0)
    assert (root / "T-1.txt").exists()
    assert (root / "begun").exists()
    assert way == "rename" or not (project.root / "T-1.txt").exists()


def test_a_supervised_run_resumes_after_a_move(project: Project) -> None:
    agent = project.program(
        "agent.sh",
        f'if [ -e "{project.programs}/cut" ]; then : > "$TASK_FOLDER/DONE"; else touch "{project.programs}/cut"; sleep 60; fi\n',
    )
    with running(project, "--task", "t", "--restart-delay", "0", "--", str(agent), command="supervise"):
        wait_for((project.programs / "cut").exists, "the start")
    here = moved(project)
    send_elsewhere(here, silent=200)
    here.ralph("resume", check=0)
    assert (here.root / ".ralph" / "tasks" / "t" / "DONE").exists()


def test_a_plan_resumes_after_a_move(project: Project) -> None:
    plan = PlanRun(project)
    plan.write()
    cut = project.programs / "cut"
    plan.plays(f"touch '{cut}'; sleep 60", "true")
    with running(project, "run", "--no-sandbox", "--max-iterations", "2", command="plan"):
        wait_for(cut.exists, "the start")
    here = moved(project)
    send_elsewhere(here, silent=200)
    ran = here.ralph("resume", check=1)
    assert str(here.root) in ran.stderr
    assert here.rows("SELECT count(*) FROM iterations WHERE decision IS NOT NULL")[0][0] >= 1
