"""All seats of a worker. Implements the ``Seats`` port."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from secrets import token_hex
from time import time

from ralph.adapters import beneath, trees
from ralph.adapters.files import real_path
from ralph.adapters.seats.lock import try_lock
from ralph.adapters.seats.mirror import Mirror, sweep_mirrors
from ralph.adapters.seats.objects import Known
from ralph.adapters.seats.record import require_job_id
from ralph.adapters.seats.seat import GitSeat, Pack
from ralph.domain.fleet.address import is_allowed, refusal_of
from ralph.domain.fleet.job import JobSpec
from ralph.domain.text.safe_text import clean_line
from ralph.domain.trust.pushed_to import local_path
from ralph.engine.fleet.shift_work import ShiftFailed
from ralph.engine.ports import ProcessRunner
from ralph.errors import UsageError


class GitSeats:
    """``home``: where this worker keeps them: ``repositories/``, ``jobs/<job>/``, and ``gone/`` for what is being removed;
    for its user alone. ``repositories``: patterns of those that jobs may be about; none: any."""

    def __init__(
        self,
        home: Path,
        *,
        worker: str,
        runner: ProcessRunner,
        pack: Pack,
        unpack: Pack,
        repositories: Sequence[str] = (),
    ) -> None:
        self._home, self._repositories = real_path(home), repositories
        self._worker, self._runner = worker, runner
        self._pack, self._unpack = pack, unpack
        self._known: dict[str, Known] = {}

    def of(self, job: JobSpec) -> GitSeat:
        """Raises UsageError for an id or an address that cannot be one, ShiftFailed for what this machine's owner does not
        allow: whoever reaches the server can write a job."""
        require_job_id(job)
        self._require_repository(job.repository)
        return GitSeat(
            self._jobs / job.id,
            job,
            worker=self._worker,
            runner=self._runner,
            mirror=Mirror(self._mirrors, job.repository, self._runner),
            pack=self._pack,
            unpack=self._unpack,
            known=self._known.setdefault(job.id, {}),
        )

    def _require_repository(self, address: str) -> None:
        if refusal := refusal_of(address):
            raise UsageError(refusal.message, hint=refusal.hint)
        if path := local_path(address):
            places = [real_path(Path(f"{path}{ending}")) for ending in ("", ".git")]  # git tries both
            if any(place.is_relative_to(self._home) for place in places):
                message = "the repository lies in the worker's own folder, which is no place for one"
                raise UsageError(message, hint="give the address that people push to")
        if not is_allowed(address, self._repositories):
            message = f"worker {self._worker} does no jobs for {clean_line(address)}"
            raise ShiftFailed(message, hint="its owner says which with `fleet.repositories`; another may")

    async def sweep(self, is_open: Callable[[str], Awaitable[bool]]) -> None:
        """Remove seats of jobs that have ended, also those that a killed worker left, and mirrors that were not used for long;
        nothing that is in use."""
        await asyncio.to_thread(trees.remove_tree, self._gone)
        for name in _names(self._jobs):
            if not await is_open(name):
                await self.remove(name)
        await asyncio.to_thread(self._sweep_mirrors)

    async def remove(self, job_id: str) -> bool:
        """False: it is in use."""
        folder, gone = self._jobs / job_id, self._gone / token_hex(8)
        try:
            lock = try_lock(folder / "lock")
        except FileNotFoundError:
            return True
        if lock is None:
            return False
        try:
            self._known.pop(job_id, None)
            # At once: whoever waits for the lock makes the seat again, and nothing of that may be removed.
            trees.move(folder, gone)
        finally:
            lock.release()
        await asyncio.to_thread(trees.remove_tree, gone)
        return True

    def _sweep_mirrors(self) -> None:
        noted = (self._jobs / name / "store/objects/info/alternates" for name in _names(self._jobs))
        used = [beneath.read_whole(file, 10_000) or b"" for file in noted]
        sweep_mirrors(self._mirrors, {Path(os.fsdecode(text.strip())) for text in used}, now=time())

    @property
    def _jobs(self) -> Path:
        return self._home / "jobs"

    @property
    def _mirrors(self) -> Path:
        return self._home / "repositories"

    @property
    def _gone(self) -> Path:
        return self._home / "gone"


def _names(folder: Path) -> list[str]:
    try:
        return beneath.list_names(folder)
    except FileNotFoundError:
        return []
