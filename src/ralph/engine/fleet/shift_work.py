"""One shift of a job on this worker: fetched from the remote, one session, pushed back or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from pathlib import Path

from ralph.domain.fleet.exits import INTERRUPTED
from ralph.domain.fleet.job import PROTOCOL, JobSpec
from ralph.domain.fleet.payer import agent_of
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder, answers, sane
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.handover import Want
from ralph.domain.text.figures import whole_duration
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
from ralph.values import dataclass, replace

ASK_AGAIN = (0.5, 1.0, 2.0)
"""Seconds between questions for a place at the agent's account, before this worker's own place is given to another job."""
COME_BACK = 10.0
"""Seconds until a job that got no such place tries again."""
SAVE_AGAIN = (2.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds between attempts to push; the last of them again and again, for a session was paid for."""
RENEW_EVERY = 120.0
MOST_LINES = 100
"""Of a sign of life."""

Sleep = Callable[[float], Awaitable[object]]


def as_named(agent: str, project: Path) -> str:
    return agent


class ShiftFailed(RalphError):
    """This machine could not do it; another one may."""

    exit_code = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftWork:
    """What this worker does for any job. ``version``: of the ralph that it runs. ``account_of``: by the agent's name
    and the project, whose settings count if that is empty."""

    worker: str
    version: str
    seats: Seats
    process: ShiftProcess
    ledger: Ledger
    account_of: Callable[[str, Path], str] = as_named
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
        before = sane(found.end or ShiftEnd())
        if answers(before, order):
            return before
        _require_whole_record(order, before)
        spent = _Spent((before.cost or 0.0) + order.lost_cost, beat, self.worker)
        # Nothing was done, so the turn is the one that was ordered.
        idle = replace(
            before,
            turn=order.turn,
            worker=self.worker,
            outcome="",
            want=Want.SESSION,
            seconds=0.0,
            hint="",
        )
        # A retry continues from where the job ended, even if nobody heard of that.
        order = replace(order, turn=before.turn)
        if order.may_merge:  # it has no session: it needs neither a place nor money
            return await self._hold(order, seat, found, idle, spent, stopping)
        agent = agent_of(before.agent, order.job.agent)
        payer = replace(order.job, agent=self.account_of(agent, found.project))
        why_not = await self._enter(payer, order.turn, spent.total)
        if why_not:
            return replace(idle, want=Want.WAIT, seconds=COME_BACK, reason=why_not)
        try:
            with self._renewing(payer, order.turn, spent):
                return await self._hold(order, seat, found, idle, spent, stopping)
        finally:
            with suppress(RalphError):  # the ledger takes the place back by itself
                await self.ledger.leave(payer, turn=order.turn, cost=spent.total)

    def _require_same_protocol(self, job: JobSpec) -> None:
        if job.protocol != PROTOCOL:
            message = (
                f"job {job.id} was submitted by ralph {job.version or 'of another version'} (protocol {job.protocol}),"
                f" and worker {self.worker} has ralph {self.version} (protocol {PROTOCOL})"
            )
            older = "the workers" if job.protocol > PROTOCOL else "the machine that submits"
            raise OtherVersion(message, hint=f"update ralph on {older}; the job waits for a worker that fits")

    async def _enter(self, job: JobSpec, turn: int, cost: float) -> str:
        why_not = await self.ledger.enter(job, turn=turn, cost=cost)
        for seconds in ASK_AGAIN:
            if not why_not:
                break
            await self.sleep(seconds)
            why_not = await self.ledger.enter(job, turn=turn, cost=cost)
        return why_not

    @contextmanager
    def _renewing(self, job: JobSpec, turn: int, spent: _Spent) -> Iterator[None]:
        """The ledger believes that whoever is silent for long has left."""

        async def renew() -> None:
            while True:
                await self.sleep(RENEW_EVERY)
                with suppress(RalphError, FleetSpent):  # a session that is under way is finished
                    await self.ledger.enter(job, turn=turn, cost=spent.total)

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
        spent.take(end)
        if (
            not end.outcome and not end.want
        ):  # its run has not begun, or its process was killed: none of it counts
            if end.exit_code == INTERRUPTED:
                await seat.forget()
                return replace(
                    spent.lost(idle),
                    want="",
                    outcome=Outcome.CANCELLED,
                    exit_code=INTERRUPTED,
                    reason="stopped",
                )
            raise _failure(end)
        try:
            return await self._save(
                seat,
                replace(end, turn=order.turn + 1, retry=order.retry, worker=self.worker),
                spent,
                stopping,
            )
        except BaseMoved:
            await seat.forget()
            return replace(
                spent.lost(idle),
                want=Want.MERGE,
                reason="somebody else has moved the base: it must be merged again",
            )

    async def _save(self, seat: Seat, end: ShiftEnd, spent: _Spent, stopping: Stopping) -> ShiftEnd:
        """However long the remote is away: it ends when another worker has the job, or this one is told to stop or leave."""
        for seconds in chain(SAVE_AGAIN, repeat(SAVE_AGAIN[-1])):
            try:
                return await seat.save(end)
            except ServiceAway as error:
                if stopping.is_now:
                    raise
                spent.say(f"cannot push: {error.message}; trying again in {whole_duration(seconds)}")
            await self._wait(seconds, stopping)
        raise AssertionError

    async def _wait(self, seconds: float, stopping: Stopping) -> None:
        """Ends early if it is to stop now."""
        over = [asyncio.ensure_future(each) for each in (self.sleep(seconds), stopping.requested_now())]
        try:
            await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in over:
                each.cancel()


class _Spent:
    """What the job has cost so far, as far as its session has said; and who is told what it says."""

    def __init__(self, before: float, beat: Callable[[Beat], None], worker: str) -> None:
        self._before, self._beat, self._worker = before, beat, worker
        self.total = before
        self._tokens = 0
        self._last = Beat(worker=worker)

    def hear(self, said: Beat) -> None:
        self.total = self._before + said.cost
        self._tokens = said.tokens
        self._last = replace(said, worker=self._worker)
        self._beat(self._last)

    def say(self, line: str) -> None:
        """Below the newest lines of the session, which has ended."""
        lines = (*self._last.lines, line)
        left_out = max(0, len(lines) - MOST_LINES)
        first = self._last.first_line + left_out
        self._last = replace(self._last, first_line=first, lines=lines[left_out:])
        self._beat(self._last)

    def take(self, end: ShiftEnd) -> None:
        """What the run itself says at its end: it may know of more."""
        self.total = max(self.total, end.cost or 0.0)

    def lost(self, end: ShiftEnd) -> ShiftEnd:
        """Of a shift that was not saved: it was paid for all the same."""
        return replace(end, lost_cost=max(0.0, self.total - self._before), lost_tokens=self._tokens)


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
            return ShiftFailed(end.reason, hint=end.hint or "another worker may be able to")
