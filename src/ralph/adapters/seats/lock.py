"""One at a time uses a seat or changes a mirror, over all processes; the system releases it if its holder is killed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import weakref
from pathlib import Path
from time import monotonic

from ralph.adapters.files import open_own
from ralph.errors import WorkspaceBusy

STEP = 0.05


class Lock:
    """Held until it is released, or nobody has it any more."""

    def __init__(self, descriptor: int) -> None:
        self._close = weakref.finalize(self, os.close, descriptor)

    def release(self) -> None:
        self._close()


def try_lock(file: Path) -> Lock | None:
    """None: another has it. Raises OSError."""
    lock = Lock(descriptor := open_own(file))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.release()
        return None
    return lock


async def take_lock(file: Path, *, seconds: float, what: str) -> Lock:
    """Raises WorkspaceBusy if another has it for longer."""
    end = monotonic() + seconds
    while (lock := try_lock(file)) is None:
        if monotonic() > end:
            message = f"{what} is in use by another process on this machine"
            raise WorkspaceBusy(message, hint=f"its lock is {file}")
        await asyncio.sleep(STEP)
    return lock
