"""Watch the fleet for a page or a screen: its jobs, one job with the lines of its session, and what a person asks of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ralph.domain.fleet.board import FleetLook, JobAsk, sort_jobs
from ralph.errors import RalphError, ServiceAway
from ralph.operations.fleet.desk import connect_fleet
from ralph.operations.fleet.jobs import send_request
from ralph.operations.fleet.past import JobPast, read_past
from ralph.values import dataclass, replace

if TYPE_CHECKING:
    from ralph.domain.fleet.shift import Beat
    from ralph.domain.fleet.views import JobView
    from ralph.engine.fleet.ports import Fleet

T = TypeVar("T")
Connect = Callable[[], Awaitable["Fleet"]]

LOOK_EVERY = 2.0
"""Seconds between two looks at all jobs."""
FOLLOW_EVERY = 1.0
"""Seconds between two looks at one job: its worker tells no more often."""
PATIENCE = 15.0
"""Seconds after which a server that says nothing counts as away."""
MOST_JOBS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLook:
    """``beat``: the newest sign of life of its session, if one is under way."""

    job: JobView
    beat: Beat | None = None


class FleetWatch:
    """Asks the server from a thread and a loop of its own: neither its library nor a slow answer holds up a face.

    ``pace``, ``follow_pace``: seconds between two looks at all jobs, and at one. ``read_past``: from a job's record.
    """

    def __init__(
        self,
        connect: Connect = connect_fleet,
        *,
        pace: float = LOOK_EVERY,
        follow_pace: float = FOLLOW_EVERY,
        patience: float = PATIENCE,
        read_past: Callable[[JobView], JobPast] = read_past,
    ) -> None:
        self.pace = pace
        self.follow_pace = follow_pace
        self._connect = connect
        self._patience = patience
        self._read_past = read_past
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fleet: Fleet | None = None
        self._connecting: asyncio.Lock | None = None
        self._known = FleetLook()

    async def look(self) -> FleetLook:
        """All jobs. A server that is away is a problem of this look; the jobs are those that were seen last."""
        try:
            jobs = await self._ask(lambda fleet: fleet.jobs(limit=MOST_JOBS))
        except RalphError as error:
            self._known = replace(self._known, problem=error.message, hint=error.hint)
        else:
            self._known = FleetLook(jobs=tuple(sort_jobs(jobs)), seen_at=time.time())
        return self._known

    async def follow(self, job_id: str) -> JobLook:
        """Raises UsageError if there is no such job, another RalphError if the server cannot be asked."""

        async def ask(fleet: Fleet) -> JobLook:
            job = await fleet.job(job_id)
            return JobLook(job=job, beat=await fleet.beat(job_id) if job.is_open else None)

        return await self._ask(ask)

    async def past(self, job: JobView) -> JobPast:
        """From the git remote, which may take a while. Raises RalphError if it cannot be read from here."""
        return await asyncio.to_thread(self._read_past, job)

    async def ask(self, job_id: str, asked: JobAsk, text: str = "") -> None:
        """Raises RalphError if it makes no sense, or the server cannot be asked."""
        await self._ask(lambda fleet: send_request(fleet, job_id, asked, text))

    def close(self) -> None:
        """The thread ends by itself; nobody waits for an answer that is still on its way."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    # --- the loop ---

    async def _ask(self, question: Callable[[Fleet], Awaitable[T]]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._connecting = asyncio.Lock()
            threading.Thread(target=_serve, args=(self._loop,), name="ralph-fleet", daemon=True).start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(question), self._loop))

    async def _answer(self, question: Callable[[Fleet], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._patience):
                return await question(await self._connected())
        except TimeoutError:
            message = f"the fleet's server has not answered for {self._patience:.0f} seconds"
            raise ServiceAway(message, hint="is it running, and can it be reached from here?") from None

    async def _connected(self) -> Fleet:
        assert self._connecting is not None
        async with self._connecting:
            if self._fleet is None:
                self._fleet = await self._connect()
        return self._fleet


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(_rest_of(asyncio.all_tasks(loop)))
        loop.close()


async def _rest_of(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
