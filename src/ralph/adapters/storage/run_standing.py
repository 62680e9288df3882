"""Where a run stands, for whoever takes it over: read from the record when its process has let go of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ralph.adapters.storage.database import open_state_database, store_errors
from ralph.adapters.storage.wire import decode_state
from ralph.domain.loop.state import LoopState
from ralph.values import dataclass

RUN = "SELECT state, outcome FROM runs WHERE id = ?"
LAST_DECISION = """SELECT coalesce(decision, '') FROM iterations JOIN runs ON runs.id = run_id
    WHERE runs.id = :run OR runs.parent_id = :run ORDER BY iterations.started_at DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Standing:
    """``decision``: of the newest session of it or of its parts. ``outcome``: empty if it has not ended."""

    state: LoopState
    outcome: str
    decision: str


def standing_of(folder: Path, run_id: str) -> Standing | None:
    """None: it is not on record."""
    with closing(open_state_database(folder)) as database, store_errors(folder / "ralph.db"):
        return _read(database, run_id)


def _read(database: sqlite3.Connection, run_id: str) -> Standing | None:
    row = database.execute(RUN, (run_id,)).fetchone()
    if row is None:
        return None
    decided = database.execute(LAST_DECISION, {"run": run_id}).fetchone()
    return Standing(decode_state(row[0]), row[1] or "", decided[0] if decided else "")
