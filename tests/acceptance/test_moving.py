"""A project can be renamed, copied and restored: its runs resume where it is now."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project
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
    from .running import running, wait_for

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

    from .running import running, wait_for

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
