"""Waiting between iterations: a delay, a backoff, a limit that resets. A stop request ends any wait."""

from __future__ import annotations

import asyncio

from ralph.domain.decision import Decision, Retry
from ralph.domain.loop_events import PauseBegan
from ralph.domain.state import LoopState
from ralph.engine.parts import LoopParts

LONGEST_SLEEP = 30.0
"""The clock is looked at again at least this often: a laptop that slept must not wait twice."""


async def pause_after(decision: Decision, state: LoopState, parts: LoopParts) -> None:
    if isinstance(decision, Retry):
        until = max(parts.clock.now() + decision.delay, decision.until or 0.0)
        reason = decision.reason
    else:
        until = parts.clock.now() + parts.pace.delay_after(state)
        reason = "delay between iterations"
    if until > parts.clock.now():
        parts.publish(PauseBegan(reason, until))
        await _sleep_until(until, parts)


async def _sleep_until(until: float, parts: LoopParts) -> None:
    stop = asyncio.ensure_future(parts.control.stop_requested())
    try:
        while not stop.done() and (left := until - parts.clock.now()) > 0:
            sleep = asyncio.ensure_future(parts.clock.sleep(min(left, LONGEST_SLEEP)))
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
    finally:
        stop.cancel()
