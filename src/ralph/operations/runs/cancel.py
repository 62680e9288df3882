"""Cancel a run that ended to wait for something outside: it has no process that could be asked to stop."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from ralph.adapters.storage.controls import cancel_ended_run
from ralph.adapters.storage.database import open_database


def cancel_waiting_run(state_folder: Path, run_id: str) -> None:
    path = state_folder / "ralph.db"
    with closing(open_database(path)) as database:
        cancel_ended_run(database, path, run_id, at=time.time())
