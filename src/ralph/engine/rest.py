"""Waiting for something outside: a stop ends it at once, and whatever makes it pointless soon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ralph.engine.ports import Clock, Control

LOOK_EVERY = 1.0
"""Seconds: so soon it is noticed that there is nothing to wait for any more."""


async def rest(
    seconds: float, *, clock: Clock, control: Control, is_over: Callable[[], object] = lambda: False
) -> None:
    """For so long, or until a stop, or until ``is_over``."""
    until = clock.monotonic() + seconds
    stop = asyncio.ensure_future(control.stop_requested())
    try:
        while not stop.done() and not is_over() and (left := until - clock.monotonic()) > 0:
            sleep = asyncio.ensure_future(clock.sleep(min(left, LOOK_EVERY)))
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
    finally:
        stop.cancel()
