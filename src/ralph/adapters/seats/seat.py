"""A job's seat on this machine, and how it travels. Implements the ``Seat`` port.

The commit point is one atomic push of record and branches, each with a lease: what was not pushed never happened, and whoever
was replaced is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ralph.adapters.files import make_private_folder
from ralph.adapters.seats.arrival import Arrival
from ralph.adapters.seats.departure import Departure, Prepared, Tips
from ralph.adapters.seats.directories import write_ref
from ralph.adapters.seats.folder import HEADS, RECORD, SeatFolder
from ralph.adapters.seats.heads import read_heads
from ralph.adapters.seats.lock import Lock, take_lock
from ralph.adapters.seats.mirror import Mirror
from ralph.adapters.seats.objects import Known
from ralph.adapters.seats.record import require_own_record
from ralph.adapters.seats.remote import Move, NotMoved
from ralph.adapters.seats.standing import Note, Standing, keep_note, read_note
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import ShiftEnd
from ralph.engine.fleet.ports import BaseMoved, Fenced, Found
from ralph.engine.ports import ProcessRunner
from ralph.errors import GitFailed, ServiceRefused
from ralph.values import replace

LOCK_SECONDS = 10.0
MOVING_SECONDS = 1.0
TIDY_EVERY = 100
"""Saves, after which objects are packed, and those that no record needs are dropped."""

Pack = Callable[[Path, Path], object]


class GitSeat:
    """``pack``, ``unpack``: of ralph's record of runs, as plain files. ``known``: which of them the store has."""

    def __init__(
        self,
        folder: Path,
        job: JobSpec,
        *,
        worker: str,
        runner: ProcessRunner,
        mirror: Mirror,
        pack: Pack,
        unpack: Pack,
        known: Known,
    ) -> None:
        self._folder = SeatFolder(folder, job.repository, runner)
        self._job, self._worker, self._mirror, self._known = job, worker, mirror, known
        self._arrival = Arrival(self._folder, job, mirror, unpack)
        self._departure = Departure(self._folder, job, worker, pack, known)
        self._lock: Lock | None = None
        self._at: Standing | None = None
        self._branch = ""  # of the job, as the remote had it
        self._base = ""  # as the clone was given it
        self._caught = ""  # the base, if this shift may move it
        self._prepared: Prepared | None = None

    # --- the port ---

    async def open(self) -> Found:
        try:
            return await self._open()
        except BaseException as error:
            self._release()  # whoever tries again need not wait until this one is forgotten
            if isinstance(error, OSError):
                raise self._unusable(error) from error
            raise

    async def take(self) -> None:
        at = self._standing
        try:
            self._folder.note.unlink(missing_ok=True)  # from now on the clone is no record's
            if at.job.holder == self._worker:
                return
            taken = self._departure.commit(
                replace(at.job, holder=self._worker),
                at.root,
                [at.record or self._base],
                f"ralph: {self._worker} takes job {self._job.id}",
            )
        except OSError as error:
            raise self._unusable(error) from error
        try:
            await self._folder.remote.push([Move(self._job.record, at.record, taken.record)])
        except NotMoved:
            raise Fenced from None
        self._at = taken

    async def catch_up(self) -> None:
        base = f"{HEADS}{self._standing.job.base}"
        now = (await self._folder.remote.ask([base])).get(base, "")
        if not now:
            raise self._arrival.no_base(self._standing.job.base)
        try:
            if read_heads(self._folder.project).refs.get(base) != now:
                await self._arrival.bring_base(base, now)
                self._base = now
        except OSError as error:
            raise self._unusable(error) from error
        self._caught = now

    async def save(self, end: ShiftEnd) -> ShiftEnd:
        try:
            if self._prepared is None or self._prepared.asked != end:
                tips = Tips(base=self._base, caught=self._caught, branch=self._branch)
                self._prepared = await self._departure.prepare(end, self._standing, tips)
            prepared = self._prepared
            await self._push(prepared)
            self._at = prepared.standing
            if prepared.is_warm:
                self._keep_note()
                await self._tidy(prepared.end.turn)
            self._release()
        except OSError as error:
            raise self._unusable(error) from error
        return prepared.end

    async def forget(self) -> None:
        with suppress(OSError):
            self._folder.note.unlink(missing_ok=True)
        self._release()

    # --- how ---

    async def _open(self) -> Found:
        make_private_folder(self._folder.path)
        self._release()
        self._prepared, self._caught = None, ""
        self._lock = await take_lock(
            self._folder.lock, seconds=LOCK_SECONDS, what=f"the seat of job {self._job.id}"
        )
        branch = f"{HEADS}{self._job.branch}"
        known = self._noted()
        base = self._job.base or ("" if known is None else known.job.base)
        asked = (self._job.record, branch, f"{HEADS}{base}" if base else "HEAD")
        for pause in (MOVING_SECONDS, 0.0):
            now = await self._ask(*asked)
            if known is None or now.get(self._job.record, "") != known.record:
                self._known.clear()
                known, self._base = await self._arrival.make_clone(now, base, keeps_ignored=known is not None)
            require_own_record(known.job, self._job, has_branch=branch in now)
            if now.get(branch, "") in ("", known.job.tip):
                break
            # A push of whoever was here before may be under way: refs of one push are not seen to move at once.
            await asyncio.sleep(pause)
        assert known is not None
        self._require_own(now.get(branch, ""), known)
        self._at, self._branch = known, now.get(branch, "")
        self._keep_note()
        return Found(project=self._folder.project, end=known.job.end)

    async def _ask(self, *refs: str) -> dict[str, str]:
        make_private_folder(self._mirror.folder.parent)
        return await self._mirror.asked.ask(refs)

    def _require_own(self, tip: str, known: Standing) -> None:
        """A person may push to the job's branch, but then it is not ralph's to overwrite."""
        if not tip or tip == known.job.tip:
            return
        where = f"{self._job.branch} of {self._mirror.remote.name}"
        if known.job.tip:
            message = f"somebody else has moved the branch {where}: ralph left it at {known.job.tip[:12]}, it is at {tip[:12]}"
            hint = f"keep those commits elsewhere, delete {self._job.branch} there, then `ralph fleet retry {self._job.id}`"
        else:
            message = f"there is a branch {where} already, which is not this job's"
            hint = "delete it there, or submit the job under another name"
        raise ServiceRefused(message, hint=hint)

    async def _push(self, prepared: Prepared) -> None:
        try:
            await self._folder.remote.push(prepared.moves)
        except NotMoved as moved:
            record, *others = prepared.moves
            if moved.now.get(record.ref, "") != record.old:
                raise Fenced from None
            for move in others:
                if move.ref == f"{HEADS}{prepared.standing.job.base}" and moved.now.get(move.ref) != move.old:
                    raise BaseMoved from None
            tip = moved.now.get(f"{HEADS}{self._job.branch}", "")
            message = f"somebody else has moved the branch {self._job.branch} of {self._mirror.remote.name} to {tip[:12] or 'nothing'}"
            hint = f"keep those commits elsewhere, delete {self._job.branch} there, then `ralph fleet retry {self._job.id}`"
            raise ServiceRefused(message, hint=hint) from None
        for move in prepared.moves:
            if move.ref == f"{HEADS}{self._job.branch}":
                self._branch = move.new

    async def _tidy(self, turn: int) -> None:
        write_ref(self._folder.store, RECORD, self._standing.record)
        if turn % TIDY_EVERY == 0:
            await self._folder.git.run("gc", "--quiet", "--prune=now")

    @property
    def _standing(self) -> Standing:
        if self._at is None:
            message = f"the seat of job {self._job.id} is not open"
            raise RuntimeError(message)
        return self._at

    def _noted(self) -> Standing | None:
        note = read_note(self._folder.note, self._job.repository)
        if note is None:
            return None
        self._base = note.base
        return note.standing

    def _keep_note(self) -> None:
        keep_note(self._folder.note, Note(self._job.repository, self._base, self._standing))

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _unusable(self, error: OSError) -> GitFailed:
        where = error.filename or self._folder.path
        return GitFailed(
            f"cannot use {where}: {error.strerror or error}", hint=f"see what is in {self._folder.path}"
        )
