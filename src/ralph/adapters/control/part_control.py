"""The user's hand on a run that is a part of another: what is asked of the whole is asked of each part."""

from __future__ import annotations

import asyncio

from ralph.adapters.control.run_control import RunControl
from ralph.engine.ports import Clock


class PartControl(RunControl):
    """Stops and pauses with ``whole``; can be stopped by itself too."""

    def __init__(self, clock: Clock, whole: RunControl) -> None:
        super().__init__(clock)
        self._whole = whole
        asyncio.ensure_future(whole.stop_now()).add_done_callback(self._end_now)

    def _end_now(self, whole: asyncio.Future[object]) -> None:
        if not whole.cancelled():
            self.request(now=True)

    @property
    def stopping(self) -> bool:
        return super().stopping or self._whole.stopping

    async def checkpoint(self) -> bool:
        await self._whole.checkpoint()
        return await super().checkpoint() or self._whole.stopping

    async def stop_requested(self) -> None:
        own = asyncio.ensure_future(super().stop_requested())
        others = asyncio.ensure_future(self._whole.stop_requested())
        try:
            await asyncio.wait({own, others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            own.cancel()
            others.cancel()
