"""Which run of a task an earlier process left unfinished."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ralph.adapters.storage.database import store_errors

NEWEST = """SELECT id, outcome FROM runs WHERE profile = 'verified' AND json_extract(options, '$.task') = ?
    ORDER BY started_at DESC, id DESC LIMIT 1"""


def run_to_go_on_with(database: sqlite3.Connection, path: Path, task_id: str) -> str:
    """Empty: it gets a new one. A run that was killed, stopped or waited keeps its counts and its spend."""
    with store_errors(path):
        row = database.execute(NEWEST, (task_id,)).fetchone()
    return str(row[0]) if row is not None and row[1] in (None, "cancelled", "waiting") else ""
