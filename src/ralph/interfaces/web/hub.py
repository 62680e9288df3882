"""One reader for all who watch: asks the record a few times a second, and answers everybody from one reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec.json

from ralph.adapters.storage.feed import Feed
from ralph.domain.views.iterations import FeedEvent, Head
from ralph.errors import RalphError
from ralph.interfaces.web.shown import board_data, event_data, run_data, timeline_data
from ralph.operations.watch import open_feed

LOOK_EVERY = 0.2
LOOK_AGAIN_AT_PROCESSES = 2.0
"""Whether a run's process is still there is not written anywhere: it is looked at now and then."""
RUNS_SHOWN = 100
BATCH = 200
BATCH_BYTES = 1_000_000

T = TypeVar("T")
encode = msgspec.json.Encoder(enc_hook=str).encode


@dataclass(frozen=True, slots=True)
class Batch:
    """Events as frames of the stream; ``last`` is the number of the last one."""

    frames: bytes
    last: int
    is_full: bool  # there may be more already


class Hub:
    """Use as ``async with hub.open()``. All questions are answered in one thread, which owns the feed."""

    def __init__(self, state_folder: Path) -> None:
        self.state_folder = state_folder
        self._thread = ThreadPoolExecutor(1, "ralph-feed")
        self._feed: Feed | None = None
        self._head = Head()
        self._problem = ""
        self._changed = asyncio.Event()
        self._known: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._watchers = 0
        self.closing = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            self.closing = True
            self._wake()
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=False)

    # --- asking ---

    async def ask(self, question: Callable[[Feed], T]) -> T:
        """Raises RalphError if the record cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: Callable[[Feed], T]) -> T:
        if self._feed is None:
            self._feed = open_feed(self.state_folder)
        return question(self._feed)

    def _close(self) -> None:
        if self._feed is not None:
            self._feed.close()

    # --- noticing ---

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While somebody does, the record is looked at; what was known before may be old."""
        if not self._watchers:
            self._known.clear()
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    @property
    def changed(self) -> asyncio.Event:
        """Is set when there may be something new; take it before you look, wait for it after."""
        return self._changed

    def end(self) -> None:
        """Lets all who watch go: the server ends."""
        self.closing = True
        self._wake()

    def _wake(self) -> None:
        self._known.clear()
        event, self._changed = self._changed, asyncio.Event()
        event.set()

    async def _look(self) -> None:
        processes_at = 0.0
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if not self._watchers:
                continue
            try:
                head, problem = await self.ask(lambda feed: feed.head()), ""
            except RalphError as error:
                head, problem = Head(), error.message
            due = clock() - processes_at > LOOK_AGAIN_AT_PROCESSES
            if head != self._head or problem != self._problem or due:
                self._head, self._problem = head, problem
                processes_at = clock()
                self._wake()

    async def _once(self, key: tuple[object, ...], question: Callable[[Feed], T]) -> T:
        """The same question of many, until something changes, is asked once."""
        task = self._known.get(key)
        if task is None:
            task = self._known[key] = asyncio.create_task(self.ask(question))
            task.add_done_callback(_is_seen)
        answer: T = await asyncio.shield(task)
        return answer

    # --- what is sent ---

    async def state(self, *, fresh: bool = False) -> bytes:
        """The runs and boards, or the problem, as JSON. ``fresh``: for who asks once and does not watch."""
        try:
            return await (self.ask(_state) if fresh else self._once(("state",), _state))
        except RalphError as error:
            return encode({"problem": error.message, "hint": error.hint, "runs": [], "boards": []})

    async def health(self) -> bytes:
        """Whether the record can be read, as JSON: the problem, or nothing."""
        try:
            await self._once(("health",), lambda feed: feed.head())
        except RalphError as error:
            return encode({"problem": error.message, "hint": error.hint})
        return b"{}"

    async def batch(self, run_id: str, after: int) -> Batch:
        return await self._once(("events", run_id, after), lambda feed: _batch(feed, run_id, after))

    async def progress(self, run_id: str) -> bytes | None:
        """How the run stands, and its newest iterations; None: there is no such run any more."""
        return await self._once(("run", run_id), lambda feed: _progress(feed, run_id))


def _is_seen(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()  # who asked has heard of it; nobody else need


def _state(feed: Feed) -> bytes:
    runs = [run_data(run, feed.label(run.id)) for run in feed.runs(limit=RUNS_SHOWN)]
    boards = [board_data(board) for board in feed.boards()]
    return encode({"runs": runs, "boards": boards})


def _batch(feed: Feed, run_id: str, after: int) -> Batch:
    frames: list[bytes] = []
    size = 0
    events = feed.events(run_id, after, BATCH)
    for event in events:
        frames.append(
            b"id: %d\nevent: happened\ndata: %b\n\n" % (event.seq, encode(happened(feed, run_id, event)))
        )
        after = event.seq
        size += len(frames[-1])
        if size > BATCH_BYTES:
            break
    return Batch(
        b"".join(frames), after, is_full=bool(frames) and (size > BATCH_BYTES or len(events) == BATCH)
    )


def happened(feed: Feed, run_id: str, event: FeedEvent) -> dict[str, Any]:
    """One event, as the page shows it."""
    each = feed.timeline(run_id).iteration_at(event.seq) if event.kind == "iteration_ended" else None
    return event_data(event, () if each is None else each.claims)


def _progress(feed: Feed, run_id: str) -> bytes | None:
    found = standing(feed, run_id, iterations=3)
    return None if found is None else encode(found)


def standing(feed: Feed, run_id: str, *, iterations: int) -> dict[str, Any] | None:
    """How a run stands, its parts, and its newest iterations; None: there is no such run."""
    run = feed.run(run_id)
    if run is None:
        return None
    timeline = feed.timeline(run_id)
    return {
        "run": run_data(run, feed.label(run_id)),
        "parts": [run_data(part, feed.label(part.id)) for part in feed.parts(run_id)],
        **timeline_data(timeline, timeline.iterations[-iterations:], live=run.live),
    }
