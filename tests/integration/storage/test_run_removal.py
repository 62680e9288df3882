"""A run is removed whole, or kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.run_removal import Belongings, belongings, compact_record, remove_run
from ralph.domain.holder import Owner
from ralph.domain.loop.events import IterationStarted
from ralph.domain.loop.state import LoopState
from ralph.errors import StoreError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs with files, events and links."""
    folder = tmp_path / ".ralph"
    database = open_state_database(folder)
    for name in ("old", "new"):
        journal = SqliteJournal(folder, database, name, owner=Owner(1, "", "", ""), now=1.0)
        journal.begin(profile="basic", agent="claude", root=tmp_path, options={})
        journal.open_session("Do it.", iteration=1, attempt=1)
        journal.append(IterationStarted(1, 1, None, "prompt"), at=1.0)
        journal.commit(LoopState())
    database.close()
    return folder


def rows(folder: Path) -> list[int]:
    database = open_state_database(folder)
    try:
        return [
            database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("runs", "iterations", "events")
        ]
    finally:
        database.close()


def test_what_a_run_left_is_counted_without_following_links(folder: Path) -> None:
    outside = folder.parent / "big"
    outside.write_text("x" * 10_000)
    (folder / "runs" / "old" / "link").symlink_to(outside)
    found = belongings(folder, "old")
    assert found.files == 2
    assert found.bytes < 1000
    assert belongings(folder, "absent") == Belongings(0, 0)


def test_folder_rows_and_links_go_together_and_the_rest_stays(folder: Path) -> None:
    link = folder / "prompt_001.txt"
    assert link.exists()
    remove_run(folder, "new")
    assert rows(folder) == [1, 1, 1]
    assert not (folder / "runs" / "new").exists()
    assert not link.is_symlink()
    assert (folder / "runs" / "old" / "prompt_001.txt").exists()


def test_a_folder_that_cannot_be_removed_keeps_its_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        remove_run(folder, "old")
    assert rows(folder) == [2, 2, 2]


def test_a_folder_that_is_gone_already_is_no_obstacle(folder: Path) -> None:
    for file in (folder / "runs" / "old").iterdir():
        file.unlink()
    (folder / "runs" / "old").rmdir()
    remove_run(folder, "old")
    assert rows(folder) == [1, 1, 1]


def test_what_a_link_leads_to_is_not_the_runs_own(folder: Path) -> None:
    precious = folder.parent / "precious"
    (folder / "runs" / "old").rename(precious)
    (folder / "runs" / "old").symlink_to(precious)
    remove_run(folder, "old")
    assert (precious / "prompt_001.txt").exists()
    assert not (folder / "runs" / "old").is_symlink()


@pytest.mark.parametrize("name", ["", ".", "..", "../..", "a/b", "/etc"])
def test_a_name_that_leads_elsewhere_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(StoreError, match="invalid name"):
        run_folder(folder, name)
    with pytest.raises(StoreError, match="invalid name"):
        remove_run(folder, name)


def test_compacting_gives_the_space_back(folder: Path) -> None:
    database = open_state_database(folder)
    database.execute("UPDATE events SET data = zeroblob(500000)")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    remove_run(folder, "old")
    remove_run(folder, "new")
    before = (folder / "ralph.db").stat().st_size
    compact_record(folder)
    assert (folder / "ralph.db").stat().st_size < before / 5
