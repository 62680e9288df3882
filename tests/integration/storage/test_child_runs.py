"""Which runs a run has started, and which of them are still there."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.child_runs import ChildRuns, cut_off, registered_child
from ralph.adapters.storage.database import open_database
from ralph.domain.holder import Owner

HERE = Owner(1, "10", "boot", "host")
STARTED = {7: "70", 8: "80", 9: "90"}
ADD = """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, outcome,
    pid, process_started, boot_id, host, parent_id) VALUES (?, '', '', '', '{}', '{}', 0, 0, ?, ?, ?, 'boot', 'host', ?)"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_database(tmp_path / "ralph.db")) as connection:
        yield connection


def add(
    database: sqlite3.Connection,
    name: str,
    parent: str,
    pid: int,
    *,
    outcome: str | None = None,
    started: str = "",
) -> None:
    database.execute(ADD, (name, outcome, pid, started or STARTED.get(pid, "0"), parent))


def children(database: sqlite3.Connection, folder: Path) -> ChildRuns:
    return ChildRuns(database, folder, "root", here=HERE, started_of=STARTED.get)


def test_active_children_and_their_children_count(tmp_path: Path, database: sqlite3.Connection) -> None:
    add(database, "a", "root", 7)
    add(database, "b", "a", 8)
    add(database, "stranger", "", 9)

    found = children(database, tmp_path)

    assert [child.id for child in found.active()] == ["a", "b"]
    assert found.is_child(7)
    assert found.is_child(8)
    assert not found.is_child(9)


def test_a_child_that_has_ended_or_died_does_not_count(tmp_path: Path, database: sqlite3.Connection) -> None:
    add(database, "over", "root", 7, outcome="completed")
    add(database, "dead", "root", 6)
    add(database, "another process with its pid", "root", 8, started="79")
    assert children(database, tmp_path).active() == []


def test_a_grandchild_whose_own_parent_is_over_still_counts(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    add(database, "a", "root", 7, outcome="completed")
    add(database, "b", "a", 8)
    assert [child.id for child in children(database, tmp_path).active()] == ["b"]


def test_a_circle_of_parents_ends(tmp_path: Path, database: sqlite3.Connection) -> None:
    add(database, "a", "b", 7)
    add(database, "b", "a", 8)
    add(database, "root", "root", 9)
    assert [child.id for child in children(database, tmp_path).active()] == ["root"]


def test_a_child_that_comes_later_is_seen(tmp_path: Path, database: sqlite3.Connection) -> None:
    found = children(database, tmp_path)
    assert not found.is_child(7)
    with closing(open_database(tmp_path / "ralph.db")) as other:  # another process's connection
        add(other, "a", "root", 7)
    assert found.is_child(7)


def test_a_child_of_another_project_is_known_by_its_file_while_it_runs(
    tmp_path: Path, database: sqlite3.Connection
) -> None:
    run_folder = tmp_path / "runs" / "root"
    run_folder.mkdir(parents=True)
    found = children(database, tmp_path)

    with registered_child({"RUN_FOLDER": str(run_folder)}, "elsewhere", Owner(7, "70", "boot", "host")):
        assert [child.id for child in found.active()] == ["elsewhere"]
        assert found.is_child(7)
    assert found.active() == []
    assert not found.is_child(7)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"owner": 5}',
        '{"owner": {"pid": "x"}}',
        '{"owner": {"pid": Infinity}}',
        "null",
        "[" * 5000,
        "\0\0",
    ],
)
def test_a_file_that_is_no_registration_is_passed_over(
    tmp_path: Path, database: sqlite3.Connection, content: str
) -> None:
    folder = tmp_path / "runs" / "root" / "children"
    folder.mkdir(parents=True)
    (folder / "odd.json").write_text(content)
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")  # nobody writes to it: reading would wait for ever
    assert children(database, tmp_path).active() == []


def test_a_registration_is_not_read_through_a_link(tmp_path: Path, database: sqlite3.Connection) -> None:
    folder = tmp_path / "runs" / "root" / "children"
    folder.mkdir(parents=True)
    owner = {"pid": 7, "process_started": "70", "boot_id": "boot", "host": "host"}
    (tmp_path / "elsewhere.json").write_text(json.dumps({"owner": owner}))
    (folder / "linked.json").symlink_to(tmp_path / "elsewhere.json")
    assert children(database, tmp_path).active() == []


def test_a_child_in_a_sandbox_registers_in_the_task_folder_and_is_known_to_have_ended_with_it(
    tmp_path: Path,
) -> None:
    environ = {"RUN_FOLDER": "/", "TASK_FOLDER": str(tmp_path), "RALPH_SANDBOX": "bwrap"}
    with registered_child(environ, "ends", HERE):
        with registered_child(environ, "is-over", HERE):
            pass
        assert cut_off(tmp_path) == ["ends"]
    assert cut_off(tmp_path) == []


def test_what_a_link_leads_to_is_not_forgotten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.json").touch()
    (tmp_path / "children").symlink_to(tmp_path / "mine")
    assert cut_off(tmp_path) == []
    assert (tmp_path / "mine" / "a.json").exists()


def test_nobody_to_tell_is_no_reason_to_fail(tmp_path: Path) -> None:
    for folder in ("", str(tmp_path / "gone")):
        with registered_child({"RUN_FOLDER": folder}, "r", HERE):
            pass
    (tmp_path / "children").write_text("in the way")
    with registered_child({"RUN_FOLDER": str(tmp_path)}, "r", HERE):
        pass


def test_a_registration_says_whose_it_is(tmp_path: Path) -> None:
    with registered_child({"RUN_FOLDER": str(tmp_path)}, "r", HERE):
        content = json.loads((tmp_path / "children" / "r.json").read_text())
    assert content["owner"] == {"pid": 1, "process_started": "10", "boot_id": "boot", "host": "host"}
