"""Requests to a run: rows that anyone may add and only the run's owner takes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters.storage.database import store_errors
from ralph.domain.loop.asks import Ask
from ralph.values import dataclass

ASK = "INSERT INTO controls (run_id, at, request, text) VALUES (?, ?, ?, ?)"
HEAR = """UPDATE controls SET taken_at = ? WHERE run_id = ? AND taken_at IS NULL AND request <> 'steer'
    RETURNING seq, request"""
STEER = """UPDATE controls SET taken_at = ?, taken_iteration = ?
    WHERE run_id = ? AND request = 'steer' AND (taken_at IS NULL OR taken_iteration = ?)
    RETURNING seq, text"""
# Asked before each session, when there is hardly ever a note: whoever only reads waits for nobody.
IS_STEERED = """SELECT 1 FROM controls
    WHERE run_id = ? AND request = 'steer' AND (taken_at IS NULL OR taken_iteration = ?) LIMIT 1"""
CANCEL = """UPDATE runs SET outcome = 'cancelled', reason = 'stopped by the user while it waited', ended_at = ?
    WHERE id = ? AND outcome = 'waiting'"""
WAS_HEARD = "SELECT taken_at IS NOT NULL FROM controls WHERE seq = ?"


@dataclass(frozen=True, slots=True)
class Controls:
    """The requests to one run."""

    database: sqlite3.Connection
    path: Path
    run_id: str

    def ask(self, request: Ask, *, at: float, text: str = "") -> int:
        """From any process; returns the request's number."""
        with store_errors(self.path):
            return self.database.execute(ASK, (self.run_id, at, request, text)).lastrowid or 0

    def was_heard(self, number: int) -> bool:
        with store_errors(self.path):
            row = self.database.execute(WAS_HEARD, (number,)).fetchone()
        return row is not None and bool(row[0])

    def version(self) -> int:
        """Changes whenever another connection writes: cheaper than asking for the rows."""
        with store_errors(self.path):
            return int(self.database.execute("PRAGMA data_version").fetchone()[0])

    def hear(self, *, at: float) -> Sequence[Ask]:
        """The owner takes the new requests, in order."""
        with store_errors(self.path):
            rows = self.database.execute(HEAR, (at, self.run_id)).fetchall()
        return [Ask(request) for _, request in sorted(rows)]

    def steering(self, *, at: float, iteration: int) -> Sequence[str]:
        """The user's notes for the prompt of this iteration; each of its attempts gets them."""
        with store_errors(self.path):
            if self.database.execute(IS_STEERED, (self.run_id, iteration)).fetchone() is None:
                return []
            rows = self.database.execute(STEER, (at, iteration, self.run_id, iteration)).fetchall()
        return [text for _, text in sorted(rows)]


def cancel_ended_run(database: sqlite3.Connection, path: Path, run_id: str, *, at: float) -> None:
    """A run that ended waiting has no owner left to take a request."""
    with store_errors(path):
        database.execute(CANCEL, (at, run_id))
