"""Removes what a run left: its folder, then its rows. A run whose folder cannot be removed keeps its rows."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.storage.database import open_database, store_errors
from ralph.errors import StoreError


class Belongings(NamedTuple):
    """What is in a run's folder."""

    files: int
    bytes: int


def run_folder(state_folder: Path, run_id: str) -> Path:
    """Raises StoreError for a name that would lead elsewhere: only the run's own folder may be removed."""
    if run_id in ("", ".", "..") or Path(run_id).name != run_id:
        message = f"the record contains a run with an invalid name: {run_id!r}"
        raise StoreError(message, hint="It was left alone.")
    return state_folder / "runs" / run_id


def belongings(folder: Path) -> Belongings:
    sizes = list(_sizes(folder))
    return Belongings(len(sizes), sum(sizes))


def _sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):  # links are counted, not followed
        for name in names:
            with contextlib.suppress(OSError):
                yield (Path(parent) / name).lstat().st_size


def remove_run(state_folder: Path, run_id: str) -> None:
    """The caller knows that the run is over. Raises StoreError and keeps the rows if the folder stays."""
    folder, path = run_folder(state_folder, run_id), state_folder / "ralph.db"
    try:
        if folder.is_symlink():
            folder.unlink()  # its target is not ours
        elif folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        message = f"cannot remove {error.filename or folder}: {error.strerror or error}"
        raise StoreError(message, hint="The run is kept in the record.") from error
    with closing(open_database(path)) as database, store_errors(path):
        database.execute("DELETE FROM runs WHERE id = ?", (run_id,))
    for pattern in ("guardrail_*.log", "prompt_*.txt"):
        for link in state_folder.glob(pattern):
            if link.is_symlink() and not link.exists():
                with contextlib.suppress(OSError):
                    link.unlink()


def compact_record(state_folder: Path) -> None:
    """Give freed space back. Only while nothing writes: it may take longer than a run would wait."""
    with closing(open_database(state_folder / "ralph.db")) as database, contextlib.suppress(sqlite3.Error):
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
