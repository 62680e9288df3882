"""Stops and pauses a run on request, from this terminal and from others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ralph.domain.loop.events import RunPaused, RunUnpaused, StopRequested
from ralph.engine.ports import Clock, Publish
from ralph.engine.stop_token import StopToken
from ralph.errors import RalphError

LOOK_EVERY = 0.25
"""Seconds: a request from another terminal is heard within this time, even while the run waits for a limit."""

GIVE_UP_AFTER = 5
"""Failed looks in a row."""


class Requests(Protocol):
    """Where requests come from; ``hear`` returns stop, stop_now, pause and unpause in the order they were made."""

    def version(self) -> int: ...

    def hear(self, *, at: float) -> Sequence[str]: ...


class RunControl(StopToken):
    """Stops like a StopToken; ``watch`` listens for requests. A pause takes effect between two sessions."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._go_on = asyncio.Event()
        self._go_on.set()
        self._why = ""

    @property
    def why(self) -> str:
        """What stopped it, if not its user."""
        return self._why

    async def checkpoint(self) -> bool:
        await self._go_on.wait()
        return await super().checkpoint()

    def request(self, *, now: bool = False, why: str = "") -> bool:
        self._go_on.set()  # a paused run can be stopped
        if not self.stopping:
            self._why = why
        return super().request(now=now)

    async def watch(self, requests: Requests, publish: Publish) -> None:
        """Until cancelled."""
        seen, failures = -1, 0
        while True:
            try:
                if (version := requests.version()) != seen:
                    for asked in requests.hear(at=self._clock.now()):
                        self._take(asked, publish)
                    seen = version
                failures = 0
            except RalphError:
                # A record that is locked for a while must not leave the run deaf for the rest of the night.
                failures += 1
                if failures == GIVE_UP_AFTER:
                    raise
            await asyncio.sleep(LOOK_EVERY)

    def _take(self, asked: str, publish: Publish) -> None:
        match asked:
            case "stop":
                # A second stop from outside does not mean "now": that is a request of its own.
                publish(StopRequested(now=self.request() if not self.stopping else False, elsewhere=True))
            case "stop_now":
                publish(StopRequested(now=self.request(now=True), elsewhere=True))
            case "pause" if not self.stopping:
                self._go_on.clear()
                publish(RunPaused())
            case "unpause" if not self._go_on.is_set():
                self._go_on.set()
                publish(RunUnpaused())
            case _:
                pass


class PartControl(RunControl):
    """For a run that is part of another: stops and pauses with ``whole``, and can be stopped by itself."""

    def __init__(self, clock: Clock, whole: RunControl) -> None:
        super().__init__(clock)
        self._whole = whole
        asyncio.ensure_future(whole.stop_now()).add_done_callback(self._end_now)

    def _end_now(self, whole: asyncio.Future[object]) -> None:
        if not whole.cancelled():
            self.request(now=True)

    @property
    def why(self) -> str:
        return self._why or self._whole.why

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
