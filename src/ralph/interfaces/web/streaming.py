"""Server-sent events: every event once and in order, even for a reader who was asleep for an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from ralph.errors import RalphError
from ralph.interfaces.web.hub import Hub

BREATH = 15.0
"""Seconds without anything to say after which the connection is kept alive; proxies and phones drop silent ones."""
RETRY = 1000


async def stream(hub: Hub, run_id: str, after: int) -> AsyncIterator[bytes]:
    """``run_id`` empty: the runs and boards only. ``after`` is the number of the last event that was seen.

    Who watches a run is told of the state only whether the record can be read: it shows nothing else of it.
    """
    with hub.watching():
        yield b"retry: %d\n\n" % RETRY
        told: dict[str, bytes] = {}
        while not hub.closing:
            changed = hub.changed
            state = await (hub.health() if run_id else hub.state())
            if told.get("state") != state:
                told["state"] = state
                yield _frame("state", state)
            if run_id:
                try:
                    while True:
                        batch = await hub.batch(run_id, after)
                        after = batch.last
                        if batch.frames:
                            yield batch.frames
                        if not batch.is_full:
                            break
                    progress = await hub.progress(run_id)
                except RalphError:
                    progress = told.get("run", b"")  # the state tells of the problem
                if progress is None:
                    yield _frame("gone", b"{}")
                    return
                if progress and told.get("run") != progress:
                    told["run"] = progress
                    yield _frame("run", progress)
            try:
                await asyncio.wait_for(changed.wait(), BREATH)
            except TimeoutError:
                yield b": still here\n\n"


def _frame(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
