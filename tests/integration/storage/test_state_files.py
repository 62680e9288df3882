"""States in real files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.storage.places import local_folder
from ralph.adapters.storage.state_files import (
    LoopStateListener,
    StateFile,
    global_folder,
    loop_state_file,
)
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationStarted, RunEnded, Warned
from ralph.domain.loop.session_report import Spend
from ralph.errors import UsageError

NOW = 1_700_000_000.0
ASIDE = "x.json.corrupt-20231114T221320Z"


def decode(document: object) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    return (document, ()) if isinstance(document, dict) else (None, ("it is a list",))


class Reports(list[str]):
    def __call__(self, message: str) -> None:
        self.append(message)


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def file(tmp_path: Path, reports: Reports) -> StateFile[dict[str, Any]]:
    return StateFile(local_folder(tmp_path), "x", decode=decode, encode=dict, report=reports, now=lambda: NOW)


State = StateFile[dict[str, Any]]


def put(file: State, content: bytes) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_bytes(content)


def test_a_state_is_written_read_and_cleared(file: State, tmp_path: Path, reports: Reports) -> None:
    assert file.read() is None
    assert file.write({"a": "ü\ud800", "b": [1, None]})
    assert file.path == tmp_path / ".ralph" / "state" / "x.json"
    assert file.read() == {"a": "ü\ud800", "b": [1, None]}
    assert file.write({"a": 2})
    assert file.read() == {"a": 2}
    assert (tmp_path / ".ralph" / ".gitignore").exists()
    assert list(file.path.parent.iterdir()) == [file.path]
    assert file.clear()
    assert file.read() is None
    assert file.clear()
    assert reports == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON"),
        (b'{"a": 1', "not JSON"),
        (b"\xff\xfe\x00nonsense", "not JSON"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "it is a list"),
    ],
    ids=["empty", "cut off", "binary", "NaN", "too deep", "of another kind"],
)
@pytest.mark.parametrize("by", ["read", "write"])
def test_what_cannot_be_understood_is_kept_aside_and_reported(
    file: State, reports: Reports, content: bytes, why: str, by: str
) -> None:
    put(file, content)
    if by == "read":
        assert file.read() is None
        assert not file.path.exists()
    else:
        assert file.write({"new": 1})
        assert file.read() == {"new": 1}
    assert (file.path.parent / ASIDE).read_bytes() == content
    (report,) = reports
    assert str(file.path) in report
    assert why in report
    assert ASIDE in report


def test_two_damaged_states_of_one_second_are_both_kept(file: State, reports: Reports) -> None:
    for content in (b"one", b"two", b"three"):
        put(file, content)
        assert file.read() is None
    kept = sorted(path for path in file.path.parent.iterdir())
    assert [path.name for path in kept] == [ASIDE, f"{ASIDE}-2", f"{ASIDE}-3"]
    assert [path.read_bytes() for path in kept] == [b"one", b"two", b"three"]
    assert len(reports) == 3


def test_a_state_that_cannot_be_written_stays_as_it_was(
    file: State, reports: Reports, tmp_path: Path
) -> None:
    (tmp_path / ".ralph").write_text("in the way")
    assert not file.write({"a": 1})
    assert file.read() is None
    assert file.clear()
    assert (tmp_path / ".ralph").read_text() == "in the way"
    assert any(report.startswith(f"cannot write {file.path}: ") for report in reports)


def test_something_that_is_no_file_is_left_alone(file: State, reports: Reports) -> None:
    file.path.parent.mkdir(parents=True)
    os.mkfifo(file.path)
    assert file.read() is None  # and does not wait for a writer
    assert not file.write({"a": 1})
    assert file.path.is_fifo()
    assert reports == [
        f"cannot read {file.path}: it is not a plain file",
        f"cannot write {file.path}: it is not a plain file",
    ]


def test_a_folder_in_its_place_is_not_cleared(file: State, reports: Reports) -> None:
    file.path.mkdir(parents=True)
    assert not file.clear()
    assert file.path.is_dir()
    assert len(reports) == 1


def test_what_is_no_json_never_replaces_a_state(file: State) -> None:
    file.write({"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        file.write({"a": float("nan")})
    assert file.read() == {"a": 1}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", ".hidden", "a\0b"])
def test_a_name_cannot_lead_elsewhere(name: str, tmp_path: Path, reports: Reports) -> None:
    with pytest.raises(UsageError):
        StateFile(tmp_path, name, decode=decode, encode=dict, report=reports, now=lambda: NOW)


def test_global_states_are_where_the_system_wants_them(own_home: Path, tmp_path: Path) -> None:
    assert global_folder({}) == own_home / ".ralph" / "state"
    assert global_folder({"XDG_STATE_HOME": "relative"}) == own_home / ".ralph" / "state"
    assert global_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "ralph"


def test_a_run_shows_where_it_stands(tmp_path: Path, reports: Reports) -> None:
    file = loop_state_file(tmp_path, report=reports, now=lambda: NOW)
    listener = LoopStateListener(file, "a-run", task="Build it", promise="DONE", started_at=NOW)
    listener(Warned("x"), NOW)
    assert file.read() is None
    for iteration in (1, 2):
        listener(IterationStarted(iteration, 1, 100, "prompt"), NOW)
    assert json.loads((tmp_path / ".ralph" / "state" / "ralph-loop.json").read_text()) == {
        "active": True,
        "iteration": 2,
        "maxIterations": 100,
        "completionPromise": "DONE",
        "startedAt": "2023-11-14T22:13:20.000Z",
        "prompt": "Build it",
        "runId": "a-run",
    }
    listener(RunEnded(Outcome.COMPLETED, "", 2, Spend(), 1.0), NOW)
    assert file.read() is None
    assert reports == []
