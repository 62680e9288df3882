"""Removes what a run left: its folder, then its rows. A run whose folder cannot be removed keeps its rows."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ralph.adapters import beneath, trees
from ralph.adapters.storage.connection import maintain
from ralph.adapters.storage.database import open_database, store_errors
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.run_links import forget_links
from ralph.errors import StoreError


class Belongings(NamedTuple):
    """What is in a run's folder."""

    files: int
    bytes: int


def belongings(state_folder: Path, run_id: str) -> Belongings:
    """As far as can be seen; a link counts as itself."""
    sizes: list[int] = []
    with (
        contextlib.suppress(OSError),
        beneath.parent_of(run_folder(state_folder, run_id), state_folder) as place,
    ):
        for _, folder, names in trees.walk(*place):
            for name in names:
                with contextlib.suppress(OSError):
                    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    sizes += [] if stat.S_ISDIR(found.st_mode) else [found.st_size]
    return Belongings(len(sizes), sum(sizes))


def remove_run(state_folder: Path, run_id: str) -> None:
    """The caller knows that the run is over. Raises StoreError and keeps the rows if the folder stays."""
    folder, path = run_folder(state_folder, run_id), state_folder / "ralph.db"
    try:
        trees.remove_tree(folder, state_folder)  # the target of a link is not ours
    except OSError as error:
        message = f"cannot remove {error.filename or folder}: {error.strerror or error}"
        raise StoreError(message, hint="The run is kept in the record.") from error
    with closing(open_database(path)) as database, store_errors(path), maintain(database, path):
        database.execute("DELETE FROM runs WHERE id = ?", (run_id,))
    forget_links(state_folder, of=folder)


def compact_record(state_folder: Path) -> None:
    """Give freed space back. Only while nothing writes: it may take longer than a run would wait."""
    path = state_folder / "ralph.db"
    with (
        closing(open_database(path)) as database,
        contextlib.suppress(sqlite3.Error),
        maintain(database, path),
    ):
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
