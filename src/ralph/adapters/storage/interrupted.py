"""A run whose process died before the run ended: `ralph resume` could continue it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ralph.adapters.storage.database import store_errors
from ralph.domain.holder import Owner, is_stale

OPEN_RUNS = """SELECT id, pid, process_started, boot_id, host FROM runs
    WHERE outcome IS NULL AND pid <> 0 AND root = ? AND parent_id NOT IN (SELECT id FROM runs)
    ORDER BY started_at DESC"""


def interrupted_run(
    database: sqlite3.Connection,
    path: Path,
    workspace: Path,
    *,
    here: Owner,
    started_of: Callable[[int], str | None],
) -> str | None:
    """The newest one of this working tree, which is where `ralph resume` looks."""
    with store_errors(path):
        rows = database.execute(OPEN_RUNS, (str(workspace),)).fetchall()
    for run_id, *owner in rows:
        if is_stale(Owner(*owner), here=here, started_of=started_of(owner[0])):
            return str(run_id)
    return None
