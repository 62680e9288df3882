"""The runs of a task: which one an earlier process left unfinished, and what all of them used."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ralph.adapters.storage.database import store_errors
from ralph.adapters.storage.wire import decode_state
from ralph.domain.loop.session_report import Spend

NEWEST = """SELECT id, outcome FROM runs WHERE profile = 'verified' AND json_extract(options, '$.task') = ?
    ORDER BY started_at DESC, id DESC LIMIT 1"""
STATES = """SELECT state FROM runs WHERE profile = 'verified' AND json_extract(options, '$.task') = ?
    AND id <> ? AND state IS NOT NULL"""


def run_to_go_on_with(database: sqlite3.Connection, path: Path, task_id: str) -> str:
    """Empty: it gets a new one. A run that was killed, stopped or waited keeps its counts and its spend."""
    with store_errors(path):
        row = database.execute(NEWEST, (task_id,)).fetchone()
    return str(row[0]) if row is not None and row[1] in (None, "cancelled", "waiting") else ""


def used_before(database: sqlite3.Connection, path: Path, task_id: str, *, besides: str) -> Spend:
    """What the runs of a task used so far, without the run ``besides``; ``seconds`` are the runs' own, not the agents'."""
    used = Spend()
    with store_errors(path):
        for (data,) in database.execute(STATES, (task_id, besides)):
            state = decode_state(data)
            used += Spend(state.spend.cost_usd, state.spend.usage, state.seconds)
    return used
