"""Waiting between iterations: a delay, a backoff, a limit that resets, a pause of the user's.

No wait is a sleep: a stop request ends it, and so does a limit of the run or whatever else makes it pointless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.domain.loop.decision import Decision, Retry
from ralph.domain.loop.events import PauseBegan
from ralph.domain.loop.state import LoopState
from ralph.engine.parts import LoopParts
from ralph.engine.ports import Control
from ralph.values import replace

LOOK_EVERY = 1.0
"""Seconds: so soon it is noticed that there is nothing to wait for any more; also the clock of a laptop that slept."""


async def pause_after(decision: Decision, state: LoopState, parts: LoopParts) -> bool:
    """Delays are measured, so that a clock that is set back does not stretch them; a reset is a time of day. True: it
    waited."""
    now = parts.clock.now()
    if isinstance(decision, Retry):
        delay, until, reason = decision.delay, decision.until, decision.reason
        cause = str(decision.obstacle or "")
    else:
        delay, until, reason = parts.pace.delay_after(state), None, "delay between iterations"
        cause = "delay"
    longest = max(delay, until - now if until is not None else 0.0)
    if longest <= 0 or parts.budget.exceeded(state) is not None:
        return False
    allowed = _allowed(parts, state)
    parts.publish(PauseBegan(reason, now + min(longest, allowed), cause))
    if not parts.control.stopping:
        parts.shift.begin_wait(min(longest, allowed), reason)
    await _sleep(parts, state, delay=delay, until=until, allowed=allowed)
    return True


async def wait_for_work(seconds: float, state: LoopState, parts: LoopParts) -> None:
    """Until there may be something to do. It costs nothing but time, so no other limit ends it."""
    parts = replace(parts, budget=parts.budget.of_waiting())
    allowed = _allowed(parts, state)
    parts.shift.begin_wait(min(seconds, allowed), "waits for something outside")
    await _sleep(parts, state, delay=seconds, until=None, allowed=allowed)


async def stand_by(control: Control, exceeded: Callable[[], object]) -> bool:
    """Wait while the run is paused, but not beyond its limits. True: stop requested."""
    while True:
        try:
            async with asyncio.timeout(LOOK_EVERY):
                return await control.checkpoint()
        except TimeoutError:
            if exceeded():
                return control.stopping


def _allowed(parts: LoopParts, state: LoopState) -> float:
    """No use in waiting beyond the time that the run has left."""
    limit = parts.budget.seconds
    return float("inf") if limit is None else max(0.0, limit - state.seconds)


async def _sleep(
    parts: LoopParts, state: LoopState, *, delay: float, until: float | None, allowed: float
) -> None:
    clock = parts.clock
    began = clock.monotonic()
    stop = asyncio.ensure_future(parts.control.stop_requested())
    try:
        while not stop.done():
            slept = clock.monotonic() - began
            to_reset = until - clock.now() if until is not None else 0.0
            left = min(max(delay - slept, to_reset), allowed - slept)
            if left <= 0 or parts.is_due() or parts.budget.exceeded(state.timed(state.seconds + slept)):
                return
            sleep = asyncio.ensure_future(clock.sleep(min(left, LOOK_EVERY)))
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
    finally:
        stop.cancel()
