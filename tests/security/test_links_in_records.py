"""A record that came with a clone: links and names in it lead nowhere, whatever a person types."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.conftest import DONE, PROMPT, Project, copy_of, make_once

from .ready_ralph import ReadyRalph

SECRET = "s3cret-of-the-user"


def run_once(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)


@pytest.fixture(scope="module")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory.mktemp("ran"), run_once)


@pytest.fixture
def ran(ran_once: Path, tmp_path: Path) -> Project:
    """With one run in its record."""
    return copy_of(ran_once, tmp_path)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    folder = tmp_path / "precious"
    folder.mkdir()
    for name in ("file", "agent_001.ndjson", "prompt_001.txt", "receipt.json", "request.json"):
        (folder / name).write_text(SECRET)
    return folder


def run_of(project: Project) -> str:
    [(run,)] = project.rows("SELECT id FROM runs")
    return str(run)


def rename_run(project: Project, name: str) -> None:
    with closing(sqlite3.connect(project.root / ".ralph" / "ralph.db")) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("UPDATE runs SET id = ?", (name,))
        database.execute("UPDATE events SET run_id = ?", (name,))
        database.commit()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("target", ["../..", "{outside}"])
@pytest.mark.parametrize(
    "command", [("runs", "prune", "--keep", "0", "--yes"), ("runs", "rm", "last", "--yes")]
)
def test_removing_runs_does_not_follow_the_folder_of_runs(
    ran: Project, precious: Path, command: tuple[str, ...], target: str
) -> None:
    before, runs = contents(precious), ran.root / ".ralph" / "runs"
    rename_run(ran, "precious")
    runs.rename(ran.root / ".ralph" / "old")
    runs.symlink_to(target.format(outside=precious.parent))
    said = ran.ralph(*command)
    assert contents(precious) == before
    assert "is a link, and ralph does not follow it" in said.stderr
    assert said.returncode != 0
    assert ran.rows("SELECT id FROM runs") == [("precious",)]


def test_a_run_whose_folder_is_a_link_goes_without_what_it_leads_to(ran: Project, precious: Path) -> None:
    before, folder = contents(precious), ran.root / ".ralph" / "runs" / run_of(ran)
    folder.rename(folder.with_name("old"))
    folder.symlink_to(precious)
    ran.ralph("runs", "prune", "--keep", "0", "--yes", check=0)
    assert not os.path.lexists(folder)
    assert contents(precious) == before


@pytest.mark.parametrize("name", ["../../../precious", "..", ".", "", "x/../../../../precious", "{outside}"])
def test_the_name_of_a_run_leads_nowhere(
    ran: Project, precious: Path, name: str, ready_ralph: ReadyRalph
) -> None:
    before = contents(precious)
    rename_run(ran, name.format(outside=precious))
    commands = (
        ("show",),
        ("show", "--receipt"),
        ("logs",),
        ("logs", "--raw"),
        ("resume", name.format(outside=precious) or "last"),
        ("status", "--json"),
        ("runs", "prune", "--keep", "0", "--yes"),  # the last: there may be nothing to see after it
    )
    for said in ready_ralph.run(commands, cwd=ran.root, environ=ran.env()):
        assert SECRET.encode() not in said.out + said.err, said
        assert b"internal error" not in said.err, said
    assert contents(precious) == before
    assert (ran.root / ".ralph" / "ralph.db").exists()
    assert (ran.root / ".ralph" / "runs").exists()


@pytest.mark.parametrize("how", ["files", "the run's folder", "the folder of runs", "paths in the record"])
def test_what_a_run_printed_is_not_read_through_links(ran: Project, precious: Path, how: str) -> None:
    runs = ran.root / ".ralph" / "runs"
    folder = runs / run_of(ran)
    if how == "files":
        for name in contents(precious):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(precious / name)
    elif how == "the run's folder":
        folder.rename(folder.with_name("old"))
        folder.symlink_to(precious)
    elif how == "the folder of runs":
        precious.rename(precious.parent / folder.name)
        runs.rename(runs.with_name("old"))
        runs.symlink_to(precious.parent)
    else:
        with closing(sqlite3.connect(ran.root / ".ralph" / "ralph.db")) as database:
            own = f".ralph/runs/{folder.name}/prompt_001.txt"
            given = str(precious / "prompt_001.txt")
            database.create_function(
                "swap", 1, lambda data: _swap(data, folder / "prompt_001.txt", own, given)
            )
            database.execute("UPDATE events SET data = swap(data)")
            database.commit()
    for command in (
        ("show",),
        ("show", "--receipt"),
        ("show", "--json"),
        ("logs",),
        ("logs", "--raw"),
        ("report",),
    ):
        said = ran.ralph(*command)
        assert SECRET not in said.stdout + said.stderr, command
        assert "internal error" not in said.stderr, command


def _swap(data: bytes, *names: str | Path) -> bytes:
    *old, new = (str(name).encode() for name in names)
    for name in old:
        data = data.replace(name, new)
    return data


def test_no_run_begins_in_a_folder_of_runs_that_is_a_link(ran: Project, precious: Path) -> None:
    before, runs = contents(precious), ran.root / ".ralph" / "runs"
    runs.rename(runs.with_name("old"))
    runs.symlink_to(precious)
    said = ran.ralph("run", "-p", PROMPT, check=4)
    assert "is a link, and ralph does not follow it" in said.stderr
    assert contents(precious) == before


def test_a_settings_file_that_is_a_pipe_or_endless_is_an_error_in_words(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    settings = project.root / ".ralph" / "settings.json"
    settings.unlink()
    os.mkfifo(settings)
    assert "not a regular file" in project.ralph("config", "validate").stdout
    settings.unlink()
    settings.symlink_to("/dev/zero")
    assert "not a regular file" in project.ralph("config", "validate").stdout
    settings.unlink()
    with settings.open("wb") as file:
        file.truncate(1 << 40)
    assert "larger than 10 MB" in project.ralph("config", "validate").stdout


def test_a_plan_behind_a_link_is_on_no_board(ran: Project, precious: Path) -> None:
    story = {"id": "A", "title": SECRET, "acceptanceCriteria": []}
    (precious / "tasks.json").write_text(json.dumps({"userStories": [story]}))
    (ran.root / "ralph").symlink_to(precious)
    said = ran.ralph("plan", "check")
    assert SECRET not in said.stdout + said.stderr
    assert said.returncode != 0


def test_a_clone_that_brings_a_link_to_another_projects_record_removes_nothing_there(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RALPH_TRUST")
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "--agent", "claude", "-m", "1", check=0)
    [run] = (project.root / ".ralph" / "runs").iterdir()
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / ".ralph").symlink_to(project.root / ".ralph")
    for command in (["prune", "--keep", "0"], ["rm", run.name]):
        refused = project.ralph("runs", *command, "--yes", cwd=clone, check=2)
        assert str(project.root) in refused.stderr
    assert run.is_dir()
    project.ralph("runs", "prune", "--keep", "0", "--yes", check=0)
    assert not run.exists()
