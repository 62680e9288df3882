"""The stop token: run on, stop after this step, stop now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class StopToken:
    """The plain ``Control``: the first request finishes the current step, the second ends it.

    Made inside a running event loop.
    """

    def __init__(self) -> None:
        self._soon = asyncio.Event()
        self._now: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def request(self, *, now: bool = False) -> bool:
        """Ask to stop; True if the current step is to be ended at once."""
        if (now or self._soon.is_set()) and not self._now.done():
            self._now.set_result(None)
        self._soon.set()
        return self._now.done()

    @property
    def stopping(self) -> bool:
        return self._soon.is_set()

    @property
    def stopping_now(self) -> bool:
        return self._now.done()

    async def checkpoint(self) -> bool:
        return self._soon.is_set()

    def stop_now(self) -> Awaitable[object]:
        return self._now

    async def stop_requested(self) -> None:
        await self._soon.wait()
