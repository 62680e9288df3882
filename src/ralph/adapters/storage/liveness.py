"""Whether the process that has a run is still there, on this machine or on another that shares the folder."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.database import StartedOf
from ralph.adapters.storage.elapsed import NAME, Elapsed
from ralph.adapters.storage.places import run_folder
from ralph.domain.holder import Owner, is_stale
from ralph.errors import StoreError

WATCHED = 2.5
"""Seconds: a live run has written by then, by whatever clock."""
STEP = 0.1


def is_gone(owner: Owner, run_id: str, *, here: Owner, started_of: StartedOf, state_folder: Path) -> bool:
    silent = silence(state_folder, run_id) if owner.host != here.host else None
    return is_stale(owner, here=here, started_of=started_of(owner.pid), silent=silent)


def silence(state_folder: Path, run_id: str) -> float | None:
    """Seconds since the run has last written how long it takes; None if it does not."""
    with suppress(OSError, StoreError):  # a name that leads elsewhere
        found = beneath.status(run_folder(state_folder, run_id) / NAME, state_folder)
        return None if found is None else time.time() - found.st_mtime
    return None


def watch_signs(state_folder: Path, run_ids: Collection[str]) -> frozenset[str]:
    """Those of these runs that write while we look: the clocks of two machines may differ by any time."""
    files = {run_id: Elapsed(run_folder(state_folder, run_id)) for run_id in run_ids}
    before = {run_id: file.read() for run_id, file in files.items()}
    deadline = time.monotonic() + WATCHED
    moving: frozenset[str] = frozenset()
    while len(moving) < len(files) and time.monotonic() < deadline:
        time.sleep(STEP)
        moving = frozenset(run_id for run_id, file in files.items() if file.read() != before[run_id])
    return moving
