"""Archiving a plan is all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.plan_documents import story_json, tasks_json

from ralph.adapters.beneath import write_atomic
from ralph.adapters.documents.plan_archive import archive_plan
from ralph.errors import StoreError

WRITES = 7  # three files and the summary into the archive, three fresh ones


def plan_in(root: Path) -> Path:
    folder = root / "ralph"
    folder.mkdir()
    (folder / "prd.md").write_text("the wish")
    (folder / "tasks.json").write_text(json.dumps(tasks_json(story_json("A"))))
    (folder / "progress.txt").write_text("some")
    return folder


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("good", range(WRITES))
def test_a_write_that_fails_on_the_way_leaves_everything_as_it_was(tmp_path: Path, good: int) -> None:
    folder = plan_in(tmp_path)
    before = content(tmp_path)
    written = 0

    def write(path: Path, data: str | bytes) -> None:
        nonlocal written
        written += 1
        if written == good + 1:
            raise OSError(28, "No space left on device")
        write_atomic(path, data)

    with pytest.raises(StoreError, match="No space left on device"):
        archive_plan(tmp_path, folder, label=None, date="2030-01-02", write=write)

    assert content(tmp_path) == before
    assert not (tmp_path / "ralph-archive").exists()


@pytest.mark.parametrize("error", [StoreError("cannot write plan.json"), KeyboardInterrupt()])
def test_so_does_what_belongs_to_it_and_other_archives_stay(tmp_path: Path, error: BaseException) -> None:
    folder = plan_in(tmp_path)
    (folder / "progress.txt").unlink()
    other = tmp_path / "ralph-archive" / "other" / "summary.md"
    other.parent.mkdir(parents=True)
    other.write_text("old")
    before = content(tmp_path)

    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        archive_plan(tmp_path, folder, label="x", date="2030-01-02", write=write_atomic, then=fail)

    assert content(tmp_path) == before
    assert [path.name for path in (tmp_path / "ralph-archive").iterdir()] == ["other"]


def test_a_plan_that_cannot_be_put_back_stays_in_the_archive(tmp_path: Path) -> None:
    folder = plan_in(tmp_path)
    before = content(folder)
    written = 0

    def write(path: Path, data: str | bytes) -> None:
        nonlocal written
        written += 1
        if written >= WRITES:  # the last of the fresh files, and then putting back
            raise OSError(5, "Input/output error")
        write_atomic(path, data)

    with pytest.raises(StoreError, match=r"cannot restore") as caught:
        archive_plan(tmp_path, folder, label="x", date="2030-01-02", write=write)

    archive = tmp_path / "ralph-archive" / "2030-01-02-x"
    assert str(archive) in str(caught.value.hint)
    kept = content(archive)
    del kept["summary.md"]
    assert kept == before
