"""One at a time makes or removes worktrees of a repository: git itself does not keep two apart."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.files import open_folder, open_own
from ralph.adapters.git import Git

NAME = "ralph-worktrees.lock"
LONGEST = 60.0
"""Seconds to wait for others. Then it is tried without: an agent could hold the lock for ever."""
STEP = 0.05


class RepositoryLock:
    """Held across tasks and across processes; the system releases it if its holder is killed."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._turn = asyncio.Lock()
        self._file: Path | None = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        async with self._turn:
            descriptor = await self._open()
            try:
                if descriptor is not None:
                    await _take(descriptor)
                yield
            finally:
                if descriptor is not None:
                    os.close(descriptor)

    async def _open(self) -> int | None:
        """None: there is no repository any more; whoever asked will be told by git."""
        if self._file is None:
            ran = await self._git.run("rev-parse", "--git-common-dir")
            if not ran.ok:
                return None
            self._file = self._git.root / ran.out.rstrip("\n") / NAME
        try:
            return open_own(self._file, 0o666)
        except OSError:
            return None


async def _take(descriptor: int) -> None:
    for _ in range(round(LONGEST / STEP)):
        if try_lock(descriptor):
            return
        await asyncio.sleep(STEP)


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder, until it is closed. False: another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lock_folder(path: Path) -> int | None:
    """A folder's descriptor that shows to other processes that it is in use; None if it is already, or not there."""
    try:
        descriptor = open_folder(path)
    except OSError:
        return None
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None
