"""One at a time uses a seat or changes a mirror, over all processes; the system releases it if its holder is killed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import weakref
from pathlib import Path
from time import monotonic

from ralph.adapters.files import make_private_folder, open_own
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
    if not _is_at(file, descriptor):  # its folder was removed meanwhile: the next one locks another file
        lock.release()
        return None
    return lock


def _is_at(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(file, follow_symlinks=False), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


def _try_anywhere(file: Path) -> Lock | None:
    make_private_folder(file.parent)
    try:
        return try_lock(file)
    except FileNotFoundError:  # it is being removed
        return None


async def take_lock(file: Path, *, seconds: float, what: str) -> Lock:
    """Raises WorkspaceBusy if another has it for longer."""
    end = monotonic() + seconds
    while (lock := _try_anywhere(file)) is None:
        if monotonic() > end:
            message = f"{what} is in use by another process on this machine"
            raise WorkspaceBusy(message, hint=f"its lock is {file}")
        await asyncio.sleep(STEP)
    return lock
