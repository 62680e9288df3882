"""What became of each branch that ralph delivers. Implements the ``DeliveryMemory`` port."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec

from ralph.adapters.storage.database import store_errors
from ralph.domain.delivery.memory import Delivered
from ralph.errors import StoreError

LOAD = "SELECT delivered FROM deliveries WHERE branch = ?"
SAVE = (
    "INSERT INTO deliveries (branch, run_id, updated_at, delivered) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (branch) DO UPDATE SET run_id = excluded.run_id, updated_at = excluded.updated_at, delivered = excluded.delivered"
)
OF_RUN = "SELECT branch FROM deliveries WHERE run_id = ? ORDER BY updated_at DESC LIMIT 1"


class Deliveries:
    """Of one branch, by one run. Read once: an agent has a shell, and could write to the record."""

    def __init__(
        self, database: sqlite3.Connection, path: Path, branch: str, *, run_id: str, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._path = path
        self._branch = branch
        self._run_id = run_id
        self._now = now
        self._known: Delivered | None = None

    def load(self) -> Delivered:
        if self._known is None:
            with store_errors(self._path):
                row = self._database.execute(LOAD, (self._branch,)).fetchone()
            self._known = Delivered() if row is None else self._read(row[0])
        return self._known

    def save(self, delivered: Delivered) -> None:
        data = msgspec.json.encode(delivered).decode()
        with store_errors(self._path):
            self._database.execute(SAVE, (self._branch, self._run_id, self._now(), data))
        self._known = delivered

    def _read(self, data: str) -> Delivered:
        try:
            return msgspec.json.decode(data, type=Delivered)
        except msgspec.MsgspecError as error:
            message = f"what is on record about the delivery of {self._branch} cannot be read: {error}"
            raise StoreError(
                message, hint="push the branch by hand, and follow its pull request there"
            ) from error


def branch_of_run(database: sqlite3.Connection, path: Path, run_id: str) -> str:
    """The branch that a run delivers; empty: none yet."""
    with store_errors(path):
        row = database.execute(OF_RUN, (run_id,)).fetchone()
    return "" if row is None else str(row[0])
