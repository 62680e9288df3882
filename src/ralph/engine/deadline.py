"""The end of a run's time, and a stop, for whatever judges or comes before a session: a check must not outlast them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Hindrance, Obstacle
from ralph.engine.ports import Control
from ralph.values import replace

LOOK_EVERY = 0.5

TimeOver = Callable[[], str | None]
"""Why there is no more time, or None."""


def no_deadline() -> str | None:
    """There is all the time in the world."""
    return None


def unless_cut(result: CheckResult, control: Control, time_over: TimeOver) -> CheckResult:
    """A check that does not hold when it is stopped, or when the time is over, may have been cut off: that says nothing
    about the work. And a run that is stopping sends no prompt that could say what the check found."""
    if result.holds:
        return result
    if control.stopping_now:
        return _cut(result, STOPPED)
    if (limit := time_over()) is not None:
        return replace(_cut(result, limit), hindrance=Hindrance(Obstacle.LIMIT_REACHED, limit))
    return replace(result, feedback=None) if control.stopping else result


def _cut(result: CheckResult, reason: str) -> CheckResult:
    return replace(result, verdict=Verdict.ERRORED, feedback=None, exit_code=None, reason=reason)


STOPPED = "it was stopped"


class DeadlineControl:
    """The user's hand on the run, under which the current step also ends when the time is over."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._over: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    @property
    def stopping(self) -> bool:
        return self._control.stopping

    @property
    def stopping_now(self) -> bool:
        return self._control.stopping_now

    async def checkpoint(self) -> bool:
        return await self._control.checkpoint()

    def stop_now(self) -> Awaitable[object]:
        return self._over

    async def stop_requested(self) -> None:
        await self._control.stop_requested()

    async def watch(self, time_over: TimeOver, *, any_stop: bool) -> None:
        control = self._control
        # Others wait for `stop_now` too: only what was made here is cancelled.
        stop = asyncio.ensure_future(control.stop_requested() if any_stop else control.stop_now())
        try:
            while not stop.done() and time_over() is None:
                await asyncio.wait({stop}, timeout=LOOK_EVERY)
        finally:
            if any_stop:
                stop.cancel()
        if not self._over.done():
            self._over.set_result(None)


@asynccontextmanager
async def until_time_is_over(
    control: Control, time_over: TimeOver, *, any_stop: bool = False
) -> AsyncIterator[Control]:
    """For whatever is judged in the block. ``any_stop``: nothing is lost if it ends, so it is not finished first."""
    if time_over is no_deadline and not any_stop:
        yield control
        return
    within = DeadlineControl(control)
    watching = asyncio.create_task(within.watch(time_over, any_stop=any_stop))
    try:
        yield within
    finally:
        watching.cancel()
