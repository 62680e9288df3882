"""Writes a run's receipt: ``runs/<id>/receipt.json``."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from ralph.adapters.files import write_atomic
from ralph.adapters.storage.database import store_errors
from ralph.adapters.storage.wire import decode_event
from ralph.domain.views.receipt import KINDS, receipt

RUN = "SELECT id, profile, agent, root, started_at, ended_at FROM runs WHERE id = ?"
EVENTS = f"SELECT data FROM events WHERE run_id = ? AND kind IN ({', '.join('?' * len(KINDS))}) ORDER BY seq"  # noqa: S608 (our own words)


def write_receipt(database: sqlite3.Connection, run_folder: Path, run_id: str) -> Path:
    path = run_folder / "receipt.json"
    with store_errors(path):
        row = database.execute(RUN, (run_id,)).fetchone()
        run = dict(zip(("run", "profile", "agent", "root", "started_at", "ended_at"), row, strict=True))
        events = [decode_event(data) for (data,) in database.execute(EVENTS, (run_id, *KINDS))]
        write_atomic(path, json.dumps(receipt(run, events), indent=1) + "\n")
    return path
