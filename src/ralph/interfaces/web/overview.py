"""The page of several projects: one hub for each, folded into one state for everyone who watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager

from ralph.domain.views.overview import fold_projects
from ralph.interfaces.web.hub import BREATH, RETRY, Hub, encode, frame
from ralph.interfaces.web.page_data import overview_data
from ralph.operations.projects import Project
from ralph.operations.watch import pace_of

REST = 1.0
"""Seconds between two states: news of many projects at once is one state."""


class Hubs:
    """Use as ``async with hubs.open()``."""

    def __init__(self, projects: Sequence[Project]) -> None:
        self._changed = asyncio.Event()
        pace = pace_of(len(projects))
        self.all = tuple(Hub(project, pace=pace, on_news=self._wake) for project in projects)
        self.closing = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for hub in self.all:
                await stack.enter_async_context(hub.open())
            yield

    def end(self) -> None:
        """Ends every stream: the server stops."""
        self.closing = True
        for hub in self.all:
            hub.end()
        self._wake()

    def _wake(self) -> None:
        event, self._changed = self._changed, asyncio.Event()
        event.set()

    async def state(self, *, fresh: bool = False) -> bytes:
        """What waits, what runs, the boards and what it costs, as JSON. ``fresh``: for someone who does not watch."""
        looks = await asyncio.gather(*(hub.look(fresh=fresh) for hub in self.all))
        return await asyncio.to_thread(lambda: encode(overview_data(fold_projects(looks))))

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events: the state, whenever it is another one."""
        with ExitStack() as stack:
            for hub in self.all:
                if not hub.project.problem:
                    stack.enter_context(hub.watching())
            yield b"retry: %d\n\n" % RETRY
            sent = b""
            while not self.closing:
                changed = self._changed
                state = await self.state()
                if state != sent:
                    sent = state
                    yield frame("state", state)
                try:
                    await asyncio.wait_for(changed.wait(), BREATH)
                except TimeoutError:
                    yield b": still here\n\n"
                if not self.closing:
                    await asyncio.sleep(REST)
