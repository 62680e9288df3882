"""One shift of a job on this worker: fetched from the remote, one session, pushed back or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from ralph.domain.fleet.job import PROTOCOL, JobSpec
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.handover import Want
from ralph.engine.fleet.ports import (
    BaseMoved,
    FleetSpent,
    Found,
    Ledger,
    OtherVersion,
    Seat,
    Seats,
    ShiftProcess,
    Stopping,
)
from ralph.errors import RalphError, ServiceAway, ServiceRefused, UsageError

ASK_AGAIN = (0.5, 1.0, 2.0)
"""Seconds between questions for a place at the agent's account, before this worker's own place is given to another job."""
COME_BACK = 10.0
"""Seconds until a job that got no such place tries again."""
SAVE_AGAIN = (2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds between attempts to push: a session was paid for."""
RENEW_EVERY = 120.0
INTERRUPTED = 130
"""Exit code of a ralph that was stopped."""

Sleep = Callable[[float], Awaitable[object]]


class ShiftFailed(RalphError):
    """This machine could not do it; another one may."""

    exit_code = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftWork:
    """What this worker does for any job. ``version``: of the ralph that it runs. ``account_of``: by the agent's name, which
    is empty if the job names none."""

    worker: str
    version: str
    seats: Seats
    process: ShiftProcess
    ledger: Ledger
    account_of: Callable[[str], str] = str
    sleep: Sleep = asyncio.sleep

    async def run(self, order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
        """A ``RunShift``. Raises Fenced if another worker has the job, FleetSpent, RalphError if this machine cannot do it."""
        self._require_same_protocol(order.job)
        seat = self.seats.of(order.job)
        try:
            return await self._run_in(seat, order, beat, stopping)
        except BaseException:
            await seat.forget()
            raise

    async def _run_in(
        self, seat: Seat, order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping
    ) -> ShiftEnd:
        found = await seat.open()
        before = found.end or ShiftEnd()
        if before.turn > order.turn:  # it was done before; only its result was lost on the way
            return before
        _require_whole_record(order, before)
        spent = _Spent((before.cost or 0.0) + order.lost_cost, beat, self.worker)
        # Nothing was done, so the turn is the one before.
        idle = replace(before, worker=self.worker, outcome="", want=Want.SESSION, seconds=0.0, hint="")
        payer = replace(order.job, agent=self.account_of(order.job.agent))
        why_not = await self._enter(payer, spent.total)
        if why_not:
            return replace(idle, want=Want.WAIT, seconds=COME_BACK, reason=why_not)
        try:
            with self._renewing(payer, spent):
                return await self._hold(order, seat, found, idle, spent, stopping)
        finally:
            with suppress(RalphError):  # the ledger takes the place back by itself
                await self.ledger.leave(payer, cost=spent.total)

    def _require_same_protocol(self, job: JobSpec) -> None:
        if job.protocol != PROTOCOL:
            message = (
                f"job {job.id} was submitted by ralph {job.version or 'of another version'} (protocol {job.protocol}),"
                f" and worker {self.worker} has ralph {self.version} (protocol {PROTOCOL})"
            )
            older = "the workers" if job.protocol > PROTOCOL else "the machine that submits"
            raise OtherVersion(message, hint=f"update ralph on {older}; the job waits for a worker that fits")

    async def _enter(self, job: JobSpec, cost: float) -> str:
        why_not = await self.ledger.enter(job, cost=cost)
        for seconds in ASK_AGAIN:
            if not why_not:
                break
            await self.sleep(seconds)
            why_not = await self.ledger.enter(job, cost=cost)
        return why_not

    @contextmanager
    def _renewing(self, job: JobSpec, spent: _Spent) -> Iterator[None]:
        """The ledger believes that whoever is silent for long has left."""

        async def renew() -> None:
            while True:
                await self.sleep(RENEW_EVERY)
                with suppress(RalphError, FleetSpent):  # a session that is under way is finished
                    await self.ledger.enter(job, cost=spent.total)

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()

    async def _hold(
        self,
        order: ShiftOrder,
        seat: Seat,
        found: Found,
        idle: ShiftEnd,
        spent: _Spent,
        stopping: Stopping,
    ) -> ShiftEnd:
        await seat.take()
        if order.may_merge:
            await seat.catch_up()
        end = await self.process.run(
            order, found.project, run_id=idle.run_id, beat=spent.hear, stopping=stopping
        )
        spent.total = max(spent.total, end.cost or 0.0)
        if (
            not end.outcome and not end.want
        ):  # its run has not begun, or its process was killed: none of it counts
            if end.exit_code == INTERRUPTED:
                await seat.forget()
                return replace(
                    idle, want="", outcome=Outcome.CANCELLED, exit_code=INTERRUPTED, reason="stopped"
                )
            raise _failure(end)
        try:
            return await self._save(seat, replace(end, turn=order.turn + 1, worker=self.worker), stopping)
        except BaseMoved:
            await seat.forget()
            return replace(
                idle, want=Want.MERGE, reason="somebody else has moved the base: it must be merged again"
            )

    async def _save(self, seat: Seat, end: ShiftEnd, stopping: Stopping) -> ShiftEnd:
        for seconds in SAVE_AGAIN:
            try:
                return await seat.save(end)
            except ServiceAway:
                if stopping.is_now:
                    raise
                await self.sleep(seconds)
        return await seat.save(end)


class _Spent:
    """What the job has cost so far, as far as its session has said; and who is told what it says."""

    def __init__(self, before: float, beat: Callable[[Beat], None], worker: str) -> None:
        self._before, self._beat, self._worker = before, beat, worker
        self.total = before

    def hear(self, said: Beat) -> None:
        self.total = self._before + said.cost
        self._beat(replace(said, worker=self._worker))


def _require_whole_record(order: ShiftOrder, before: ShiftEnd) -> None:
    if before.turn < order.turn:
        job = order.job
        message = f"the record of job {job.id} on the remote is older than the job: {before.turn} of {order.turn} steps"
        hint = f"put {job.record} and the branch {job.branch} back there, then `ralph fleet retry {job.id}`"
        raise ServiceRefused(message, hint=hint)


def _failure(end: ShiftEnd) -> RalphError:
    """What is wrong with the job itself is wrong everywhere; for the rest another machine may do."""
    match end.exit_code:
        case 0 | 1 | 2:
            return UsageError(end.reason, hint=end.hint)
        case 5:
            return ServiceAway(end.reason, hint=end.hint)
        case _:
            return ShiftFailed(end.reason, hint=end.hint)
