"""Where the tasks came from about which something is left to do, looked up before a run begins and without touching the record."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.storage.run_reader import open_reader

_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tickets'"
SOURCES = """SELECT DISTINCT source FROM tickets JOIN tasks ON tasks.id = tickets.task_id
    WHERE tasks.status NOT IN ('done', 'cancelled') OR tasks.status <> tickets.settled"""
"""Those with tickets about which something is left to do, or to tell."""


def open_ticket_sources(state_folder: Path) -> tuple[str, ...]:
    """Raises StoreError if the record cannot be read."""
    reader = open_reader(state_folder)
    if reader is None:
        return ()
    with reader:
        if not reader.query(_TABLE):  # an earlier version wrote it
            return ()
        return tuple(str(name) for (name,) in reader.query(SOURCES))
