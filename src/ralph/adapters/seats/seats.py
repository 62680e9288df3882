"""All seats of a worker. Implements the ``Seats`` port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import real_path
from ralph.adapters.seats.lock import try_lock
from ralph.adapters.seats.mirror import Mirror
from ralph.adapters.seats.objects import Known
from ralph.adapters.seats.record import require_job_id
from ralph.adapters.seats.seat import GitSeat, Pack
from ralph.domain.fleet.job import JobSpec
from ralph.engine.ports import ProcessRunner


class GitSeats:
    """``home``: where this worker keeps them: ``repositories/`` and ``jobs/<job>/``, for its user alone."""

    def __init__(self, home: Path, *, worker: str, runner: ProcessRunner, pack: Pack, unpack: Pack) -> None:
        self._home = real_path(home)
        self._worker, self._runner = worker, runner
        self._pack, self._unpack = pack, unpack
        self._known: dict[str, Known] = {}

    def of(self, job: JobSpec) -> GitSeat:
        """Raises UsageError for an id or an address that cannot be one."""
        require_job_id(job)
        return GitSeat(
            self._jobs / job.id,
            job,
            worker=self._worker,
            runner=self._runner,
            mirror=Mirror(self._home / "repositories", job.repository, self._runner),
            pack=self._pack,
            unpack=self._unpack,
            known=self._known.setdefault(job.id, {}),
        )

    async def sweep(self, is_open: Callable[[str], Awaitable[bool]]) -> None:
        """Remove seats of jobs that have ended, also those that a killed worker left; not those in use."""
        try:
            names = beneath.list_names(self._jobs)
        except FileNotFoundError:
            return
        for name in names:
            if not await is_open(name):
                await self.remove(name)

    async def remove(self, job_id: str) -> bool:
        """False: it is in use."""
        self._known.pop(job_id, None)
        folder = self._jobs / job_id
        try:
            lock = try_lock(folder / "lock")
        except FileNotFoundError:
            return True
        if lock is None:
            return False
        try:
            await asyncio.to_thread(trees.remove_tree, folder)
        finally:
            lock.release()
        return True

    @property
    def _jobs(self) -> Path:
        return self._home / "jobs"
