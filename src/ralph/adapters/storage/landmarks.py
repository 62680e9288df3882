"""What happened in a run so far, without the agent's own words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from ralph.adapters.storage.wire import restore
from ralph.domain.loop.events import LoopEvent

_LANDMARKS = "SELECT at, data FROM events WHERE run_id = ? AND kind <> 'agent_acted' ORDER BY seq"


def landmarks_of(database: sqlite3.Connection, run_id: str) -> Iterator[tuple[LoopEvent, float]]:
    """Events that this version of ralph does not know are left out."""
    for at, data in database.execute(_LANDMARKS, (run_id,)):
        event = restore(data)
        if event is not None:
            yield event, at
