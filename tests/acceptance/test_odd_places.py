"""Folders and limits that nobody plans for: what can be done is done, and the rest is said."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import DONE, PROMPT, Project


def project_at(root: Path, project: Project) -> Project:
    root.mkdir(parents=True)
    odd = Project(root, project.programs)
    odd.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    odd.agent([{"say": DONE}])
    return odd


def test_a_path_that_is_not_utf8_is_a_path_like_any_other(project: Project, tmp_path: Path) -> None:
    odd = project_at(tmp_path / os.fsdecode(b"caf\xe9"), project)
    odd.ralph("run", "-p", PROMPT, check=0)
    for command in (
        ["status"],
        ["status", "--json"],
        ["logs"],
        ["show"],
        ["show", "--receipt"],
        ["task", "list"],
    ):
        ran = odd.ralph(*command)
        assert ran.returncode == 0, (command, ran.stderr)


def test_a_path_that_is_too_long_for_the_record_is_said_to_be(project: Project, tmp_path: Path) -> None:
    odd = project_at(tmp_path.joinpath(*["x" * 200] * 4), project)
    said = odd.ralph("run", "-p", PROMPT, check=4).stderr
    assert "is too long for SQLite" in said
    assert "shorter path" in said


@pytest.mark.parametrize("most", [6, 8, 10])
def test_too_few_files_that_may_be_open_are_no_bug(project: Project, most: int) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "run", "-p", PROMPT],
        cwd=project.root,
        env=project.env(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        preexec_fn=limited_to(most),
    )
    assert ran.returncode == 4, ran.stderr
    assert "too many files are open" in ran.stderr
    assert "ulimit -n" in ran.stderr


def test_a_record_whose_log_was_cut_short_is_not_taken_for_a_whole_one(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    project.agent([{"run": ": > .ralph/ralph.db-wal"}, {"say": DONE}])
    said = project.ralph("run", "-p", PROMPT, check=4).stderr
    assert "damaged" in said
    assert "Move it" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_users_look_does_not_take_the_record_away(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    folder = project.root / ".ralph"
    folder.chmod(0o777)  # as an earlier version may have left it
    (folder / "ralph.db").chmod(0o666)
    look = (
        "import os, sys; from pathlib import Path; from ralph.operations.runs.read import recent_runs;"
        "import ralph.adapters.storage.wire, ralph.domain.views.runs, encodings.ascii;"
        "os.setuid(65534); print(len(recent_runs(Path(sys.argv[1]), limit=9)))"
    )
    for path in (*folder.parents, folder):  # pytest keeps its folders to itself
        if path.is_relative_to(Path("/tmp")) and path != Path("/tmp"):
            path.chmod(0o777)
    ran = subprocess.run(
        [sys.executable, "-c", look, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "1\n", ran.stderr
    assert {file.stat().st_uid for file in folder.iterdir()} == {0}


def limited_to(most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
