"""Git takes what is ignored for expendable: a pull can put records into a folder that ralph has sealed. None of them is obeyed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ralph.adapters.storage.request_marks import strange_request

RALPH = [sys.executable, "-m", "ralph"]
SECONDS = 60


@pytest.fixture(autouse=True)
def nobody_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RALPH_TRUST")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """With a run of the user's own in it, which can be resumed, and a program of somebody else's."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    evil = project / "evil"
    evil.write_text(f'#!/bin/sh\n: > "{tmp_path}/RAN"\necho no\n')
    evil.chmod(0o755)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    assert ralph(project, "run", "-p", "mine", "--agent", "true", "-m", "1").returncode == 1
    return project


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=SECONDS)


def ralph(project: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RALPH, *arguments],
        cwd=project,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def has_run(project: Path) -> bool:
    return (project.parent / "RAN").exists()


def request_of(project: Path) -> Path:
    return next((project / ".ralph" / "runs").glob("*/request.json"))


def change_request(project: Path) -> None:
    """As whoever can write the file would."""
    said = json.loads(request_of(project).read_text())
    said["flags"] = [[["agent", "command"], "./evil", "--agent"]]
    request_of(project).write_text(json.dumps(said))


def commit_on_a_branch(project: Path, *names: str) -> None:
    """What upstream has; afterwards the project is as it was."""
    git(project, "switch", "-q", "-c", "upstream")
    git(project, "add", "-f", *names)
    git(project, "commit", "-q", "-m", "records")


def test_a_log_that_git_put_there_is_not_played_into_the_record(project: Path, tmp_path: Path) -> None:
    database, log = (project / ".ralph" / name for name in ("ralph.db", "ralph.db-wal"))
    before = database.read_bytes()
    copy = tmp_path / "copy.db"
    shutil.copy(database, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE runs SET agent = 'theirs'")
        connection.commit()
        shutil.copy(f"{copy}-wal", log)
    commit_on_a_branch(project, ".ralph/ralph.db-wal")
    git(project, "switch", "-q", "main")
    assert not log.exists()
    git(project, "merge", "-q", "upstream")
    assert log.exists()
    for command in (
        ["status"],
        ["task", "list"],
        ["stop"],
        ["resume", "-m", "2"],
        ["run", "-p", "x", "--agent", "true"],
    ):
        ran = ralph(project, *command)
        assert ran.returncode not in (0, 1), command
        assert f"git put {log} there, which would replace your record" in ran.stderr, command
        assert f"git rm -f {log}" in ran.stderr
    assert database.read_bytes() == before
    git(project, "rm", "-q", "-f", str(log))
    ran = ralph(project, "resume", "-m", "2")
    assert "not trusted" not in ran.stderr
    assert "theirs" not in ralph(project, "status").stdout


def test_a_log_of_ours_that_an_agent_added_to_git_is_used(project: Path) -> None:
    database = project / ".ralph" / "ralph.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE runs SET agent = 'mine'")
        connection.commit()
        git(project, "add", "-f", ".ralph/ralph.db-wal")
        connection.execute("UPDATE runs SET agent = 'ours'")
        connection.commit()
        ran = ralph(project, "status")
    assert (ran.returncode, "git put" in ran.stderr) == (0, False)


def test_a_request_that_ralph_did_not_write_is_not_resumed(project: Path) -> None:
    """Whoever put it there: git, an archive, another run's agent. The seal of the folder is still there."""
    change_request(project)
    ran = ralph(project, "resume", "-m", "2")
    assert (ran.returncode, has_run(project)) == (2, False)
    assert "resumes a run that ralph cannot tell from a stranger's, with agent.command=./evil" in ran.stderr
    ran = ralph(project, "resume", "-m", "2", "--trust")
    assert (ran.returncode, has_run(project)) == (1, True)


def test_a_mark_counts_for_one_run_in_one_place_only(project: Path, tmp_path: Path) -> None:
    request = request_of(project)
    assert not [*strange_request(request.parent)]
    for place in (
        request.parent.with_name("another"),
        tmp_path / "other" / ".ralph" / "runs" / request.parent.name,
    ):
        shutil.copytree(request.parent, place)
        assert len([*strange_request(place)]) == 1
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / ".ralph").symlink_to(project / ".ralph")
    assert len([*strange_request(tmp_path / "link" / ".ralph" / "runs" / request.parent.name)]) == 1


def test_requests_of_earlier_versions_are_asked_about_once(project: Path) -> None:
    """With the record that they are a part of; and each for itself if that is known."""
    ralph(project, "run", "-p", "again", "--agent", "true", "-m", "1")
    for request in (project / ".ralph" / "runs").glob("*/request.json"):
        said = json.loads(request.read_text())
        assert said.pop("mark")
        request.write_text(json.dumps(said))
    assert ralph(project, "resume", "-m", "2").returncode == 2
    (project / ".ralph" / "seal").unlink()
    assert ralph(project, "trust", "--yes").returncode == 0
    for request in (project / ".ralph" / "runs").glob("*/request.json"):
        assert "not trusted" not in ralph(project, "resume", request.parent.name, "-m", "2").stderr


def test_records_that_git_tracks_are_asked_about_until_they_change(project: Path) -> None:
    git(project, "add", "-f", ".ralph/ralph.db", ".ralph/runs", ".ralph/.gitignore")
    git(project, "commit", "-q", "-m", "records")
    run = ("run", "-p", "x", "--agent", "true", "-m", "1")
    for command in (("resume", "-m", "2"), run):
        ran = ralph(project, *command)
        assert ran.returncode == 2
        assert "git rm -r --cached .ralph/ralph.db .ralph/runs\n" in ran.stderr
    assert ralph(project, "status").returncode == 0
    assert ralph(project, "trust", "--yes").returncode == 0
    assert ralph(project, *run).returncode == 1
    git(project, "add", "-f", ".ralph/runs")  # another one has come
    assert ralph(project, *run).returncode == 2
    git(project, "rm", "-q", "-r", "--cached", ".ralph/ralph.db", ".ralph/runs")
    assert ralph(project, *run).returncode == 1


def test_settings_that_are_shared_by_git_are_no_records(project: Path) -> None:
    (project / ".ralph" / "settings.json").write_text("{}")
    git(project, "add", "-f", ".ralph/settings.json", ".ralph/.gitignore")
    assert ralph(project, "trust", "--show").returncode == 0


@pytest.mark.parametrize("moment", [".ralph/seal", ".ralph/ralph.db", ".ralph/runs/*/request.json", "BEGUN"])
def test_a_kill_at_any_moment_leaves_a_record_that_is_known(tmp_path: Path, moment: str) -> None:
    project, agent = tmp_path / "project", tmp_path / "agent"
    project.mkdir()
    agent.write_text("#!/bin/sh\n: > BEGUN\nsleep 60\n")
    agent.chmod(0o755)
    run = [*RALPH, "run", "-p", "x", "--agent", str(agent)]
    with subprocess.Popen(run, cwd=project, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        end = time.monotonic() + SECONDS
        while not any(project.glob(moment)) and time.monotonic() < end:
            pass
        started.send_signal(signal.SIGKILL)
    assert any(project.glob(moment))
    shown = ralph(project, "trust", "--show")
    assert (shown.returncode, shown.stdout) == (0, f"{project} asks for nothing\n")
    if any(project.glob(".ralph/runs/*/request.json")):
        assert not [*strange_request(request_of(project).parent)]


def test_a_state_folder_that_is_a_submodule_is_asked_about(project: Path) -> None:
    """Its own index has the records, or that of the project all of it."""
    assert ralph(project, "trust", "--show").returncode == 0
    git(project / ".ralph", "init", "-q")
    assert ralph(project, "trust", "--show").returncode == 0
    git(project / ".ralph", "add", "-f", "ralph.db")
    shown = ralph(project, "trust", "--show")
    assert (shown.returncode, ".ralph/ralph.db" in shown.stdout) == (2, True), shown
    git(project / ".ralph", "commit", "-q", "-m", "records")
    git(project / ".ralph", "rm", "-q", "--cached", "ralph.db")
    git(project, "add", "-f", ".ralph")
    shown = ralph(project, "trust", "--show")
    assert (shown.returncode, ".ralph/ralph.db" in shown.stdout) == (2, False), shown
