"""Waiting between iterations: a delay, a backoff, a limit that resets. A stop request ends any wait."""

from __future__ import annotations

import asyncio

from ralph.domain.loop.decision import Decision, Retry
from ralph.domain.loop.events import PauseBegan
from ralph.domain.loop.state import LoopState
from ralph.engine.parts import LoopParts

LONGEST_SLEEP = 30.0
"""The clock is looked at again at least this often: a laptop that slept must not wait twice."""


async def pause_after(decision: Decision, state: LoopState, parts: LoopParts) -> None:
    """Delays are measured, so that a clock that is set back does not stretch them; a reset is a time of day."""
    now = parts.clock.now()
    if isinstance(decision, Retry):
        delay, until, reason = decision.delay, decision.until, decision.reason
    else:
        delay, until, reason = parts.pace.delay_after(state), None, "delay between iterations"
    longest = max(delay, until - now if until is not None else 0.0)
    if longest <= 0:
        return
    allowed = _allowed(parts, state)
    parts.publish(PauseBegan(reason, now + min(longest, allowed)))
    await _sleep(parts, delay=delay, until=until, allowed=allowed)


def _allowed(parts: LoopParts, state: LoopState) -> float:
    """No use in waiting beyond the time that the run has left."""
    limit = parts.budget.seconds
    return float("inf") if limit is None else max(0.0, limit - state.seconds)


async def _sleep(parts: LoopParts, *, delay: float, until: float | None, allowed: float) -> None:
    clock = parts.clock
    began = clock.monotonic()
    stop = asyncio.ensure_future(parts.control.stop_requested())
    try:
        while not stop.done():
            slept = clock.monotonic() - began
            to_reset = until - clock.now() if until is not None else 0.0
            left = min(max(delay - slept, to_reset), allowed - slept)
            if left <= 0:
                return
            sleep = asyncio.ensure_future(clock.sleep(min(left, LONGEST_SLEEP)))
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
    finally:
        stop.cancel()
