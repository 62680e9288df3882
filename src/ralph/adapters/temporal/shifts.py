"""The shifts under way on this worker. A shift outlives the server's absence: whoever orders it again joins it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError

from ralph.adapters.temporal import names
from ralph.adapters.temporal.meters import Meters
from ralph.adapters.temporal.places import Places
from ralph.domain.fleet import steps
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder, sane
from ralph.domain.fleet.steps import Fault
from ralph.domain.loop.handover import Want
from ralph.engine.fleet.ports import RunShift
from ralph.errors import RalphError, ServiceAway
from ralph.values import replace

BEAT_EVERY = 1.0
MANY_RESULTS = 200
"""Ends of shifts that are kept, in case the server did not hear of them."""


class Session:
    """One shift that runs here, and whoever waits for it. It is the ``Stopping`` of that shift."""

    def __init__(self, order: ShiftOrder, worker: str) -> None:
        self.order = order
        self.beat = Beat(worker=worker, turn=order.turn)
        self.watchers = 0
        self._stop = asyncio.Event()
        self._now = asyncio.Event()
        self.task: asyncio.Task[ShiftEnd]

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def is_now(self) -> bool:
        return self._now.is_set()

    async def requested(self) -> None:
        await self._stop.wait()

    async def requested_now(self) -> None:
        await self._now.wait()

    def stop(self, *, now: bool) -> None:
        self._stop.set()
        if now:
            self._now.set()

    def is_of(self, order: ShiftOrder) -> bool:
        """A shift that has failed, or has done nothing, is begun again; so is one of a job that was retried since."""
        mine, asked = self.order, order
        if (mine.job, mine.turn, mine.retry) != (asked.job, asked.turn, asked.retry):
            return False
        if not self.task.done():
            return not self.task.cancelling()
        return self.is_kept

    @property
    def is_kept(self) -> bool:
        """Its end is worth keeping: it is on the remote."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return False
        return self.task.result().turn > self.order.turn


class Shifts:
    def __init__(
        self,
        client: Client,
        *,
        worker: str,
        places: Places,
        run_shift: RunShift,
        meters: Meters,
        on_change: Callable[[], None],
    ) -> None:
        self._client = client
        self._worker = worker
        self._places = places
        self._run_shift = run_shift
        self._meters = meters
        self._sessions: dict[str, Session] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._on_change = on_change

    @property
    def running(self) -> tuple[asyncio.Task[ShiftEnd], ...]:
        return tuple(each.task for each in self._sessions.values() if not each.task.done())

    @activity.defn(name=names.SHIFT)
    async def shift(self, order: ShiftOrder) -> ShiftEnd:
        session = await self._join_or_begin(order)
        if session is None:
            return ShiftEnd(turn=order.turn, worker=self._worker, busy=True)
        if order.tells:
            self._run_errand(self._say_begun())
        session.watchers += 1
        try:
            await self._watch(session)
        finally:
            session.watchers -= 1
        end = _result(session)
        # Nobody need wait for a worker that takes no more work.
        return replace(end, worker="") if self._places.is_closed else end

    def hand_over(self) -> None:
        """End the sessions: other workers begin these shifts again."""
        for task in self.running:
            task.cancel()

    async def _join_or_begin(self, order: ShiftOrder) -> Session | None:
        job = order.job.id
        while found := self._sessions.get(job):
            if found.is_of(order):
                return found
            if found.task.done():
                break
            # It was replaced elsewhere in the meantime: what it does cannot be pushed.
            found.task.cancel()
            await asyncio.wait({found.task})
        if not self._places.take(job, time.monotonic(), in_any_case=order.may_merge):
            return None
        session = Session(order, self._worker)
        session.task = asyncio.create_task(self._run(session))
        self._sessions.pop(job, None)
        self._sessions[job] = session
        self._forget_old()
        self._on_change()
        return session

    async def _run(self, session: Session) -> ShiftEnd:
        comes_back = False

        def beat(beat: Beat) -> None:
            session.beat = replace(beat, worker=self._worker, turn=session.order.turn)

        self._meters.begin_shift()
        try:
            end = sane(await self._run_shift(session.order, beat, session))
            comes_back = not end.outcome and end.want == Want.SESSION
            self._places.count(time.monotonic(), well=end.turn > session.order.turn)
            self._meters.count_end(session.order, session.beat, end)
            return end
        except RalphError as error:
            if _fault(error).kind not in steps.JOBS_OWN:
                self._places.count(time.monotonic(), well=False)
            raise
        finally:
            self._meters.end_shift()
            self._places.leave(session.order.job.id, time.monotonic(), comes_back=comes_back)
            self._on_change()

    async def _watch(self, session: Session) -> None:
        """Until the shift has ended, with a sign of life each second, whether or not the server hears it."""
        is_cancelled = False
        while not session.task.done():
            activity.heartbeat(session.beat)
            try:
                await asyncio.wait({session.task}, timeout=BEAT_EVERY)
                if is_cancelled and not session.is_now and not session.task.done():
                    await self._hear(session)
            except asyncio.CancelledError:
                details = activity.cancellation_details()
                if details is None or not details.cancel_requested:
                    self._run_errand(self._see_off(session))
                    raise
                is_cancelled = True

    async def _see_off(self, session: Session) -> None:
        """For the server this order is gone, perhaps only because it was away itself: its next one may come here."""
        await asyncio.wait({session.task}, timeout=steps.farewell_after(session.order.job))
        if not session.watchers:
            session.task.cancel()

    async def _hear(self, session: Session) -> None:
        """A cancelled order was withdrawn before anybody had begun it, or somebody said stop: the job says which."""
        job_id = session.order.job.id
        with contextlib.suppress(RPCError):
            job = await self._client.get_workflow_handle(names.workflow_id(job_id)).describe()
            progress = await job.memo_value(names.PROGRESS, default=None, type_hint=JobProgress)
            if progress is not None and progress.is_stopping:
                session.stop(now=progress.stop_now)

    async def _say_begun(self) -> None:
        info = activity.info()
        with contextlib.suppress(RPCError):
            job = self._client.get_workflow_handle(str(info.workflow_id), run_id=info.workflow_run_id)
            await job.signal(names.BEGUN, self._worker)

    def _run_errand(self, errand: asyncio._CoroutineLike[None]) -> None:
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    def _forget_old(self) -> None:
        done = [job for job, session in self._sessions.items() if session.task.done()]
        for job in done[: max(0, len(done) - MANY_RESULTS)]:
            del self._sessions[job]


def _result(session: Session) -> ShiftEnd:
    """A failure in the words that the rules read."""
    beat = session.beat
    try:
        return session.task.result()
    except asyncio.CancelledError:
        fault = Fault(
            kind=steps.WORKER_LEFT, message=f"{beat.worker} has left", cost=beat.cost, tokens=beat.tokens
        )
    except Exception as error:  # whatever it is, the job must hear of it
        fault = replace(_fault(error), cost=beat.cost, tokens=beat.tokens)
    raise ApplicationError(
        fault.message, fault, type=fault.kind, non_retryable=True, category=ApplicationErrorCategory.BENIGN
    ) from None


def _fault(error: Exception) -> Fault:
    known = (each.__name__ for each in type(error).__mro__)
    kind = next((name for name in known if name in steps.KINDS), type(error).__name__)
    if isinstance(error, RalphError):
        after = error.after or 0.0 if isinstance(error, ServiceAway) else 0.0
        return Fault(
            kind=kind, message=error.message, hint=error.hint, exit_code=error.exit_code, after=after
        )
    if kind in steps.KINDS:
        return Fault(kind=kind, message=str(error) or kind)
    return Fault(kind=kind, message=f"{kind}: {error}", hint="this is a fault in ralph", exit_code=3)
