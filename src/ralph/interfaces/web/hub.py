"""One reader of the record for everyone who watches: it looks a few times a second and answers them all from that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec.json

from ralph.domain.views.overview import ProjectLook, ready_tasks
from ralph.domain.views.runs import FeedEvent
from ralph.errors import RalphError
from ralph.interfaces.web.page_data import board_data, event_data, run_data, timeline_data
from ralph.operations.projects import Project, look_at, unreadable
from ralph.operations.watch import LOOK_EVERY, Feed, Watch, run_budget
from ralph.values import dataclass

RUNS_SHOWN = 100
BATCH = 200
BATCH_BYTES = 1_000_000
BREATH = 15.0
"""Seconds of silence after which the stream sends a sign of life; proxies and phones drop silent connections."""
RETRY = 1000

T = TypeVar("T")
encode = msgspec.json.Encoder(enc_hook=str).encode


@dataclass(frozen=True, slots=True)
class Batch:
    """Events as frames of the stream; ``last`` is the number of the last one."""

    frames: bytes
    last: int
    is_full: bool  # there may be more already


class Hub:
    """Use as ``async with hub.open()``. ``pace``: seconds between two looks; ``on_news`` hears of each change."""

    def __init__(
        self, project: Project, *, pace: float = LOOK_EVERY, on_news: Callable[[], None] = lambda: None
    ) -> None:
        self.project = project
        self._record = Watch(project.state_folder)
        self._pace = pace
        self._on_news = on_news
        self._problem = ""
        self._changed = asyncio.Event()
        self._watched = asyncio.Event()
        self._known: dict[tuple[object, ...], asyncio.Task[Any]] = {}
        self._watchers = 0
        self.closing = False

    @property
    def state_folder(self) -> Path:
        return self.project.state_folder

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
            await self._record.close()

    async def ask(self, question: Callable[[Feed], T]) -> T:
        """Raises RalphError if the record cannot be read."""
        return await self._record.ask(question)

    # --- noticing ---

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The hub looks at the record only while someone watches; what it knew before may be out of date."""
        if not self._watchers:
            self._known.clear()
        self._watchers += 1
        self._watched.set()
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._watched.clear()

    def end(self) -> None:
        """Ends every stream: the server stops."""
        self.closing = True
        self._wake()

    def _wake(self) -> None:
        self._known.clear()
        event, self._changed = self._changed, asyncio.Event()
        event.set()
        self._on_news()

    async def _look(self) -> None:
        while True:
            await self._watched.wait()  # a page that nobody has open costs nothing
            await asyncio.sleep(self._pace)
            try:
                has_news, problem = await self._record.has_news(), ""
            except RalphError as error:
                has_news, problem = False, error.message
            if has_news or problem != self._problem:
                self._problem = problem
                self._wake()

    async def _once(self, key: tuple[object, ...], question: Callable[[Feed], T]) -> T:
        """Until something changes, ask the same question only once."""
        task = self._known.get(key)
        if task is None:
            task = self._known[key] = asyncio.create_task(self.ask(question))
            task.add_done_callback(is_seen)
        answer: T = await asyncio.shield(task)
        return answer

    # --- sending ---

    async def state(self, *, fresh: bool = False) -> bytes:
        """The runs and boards, or the problem, as JSON. ``fresh``: for someone who asks once and does not watch."""
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

    async def look(self, *, fresh: bool = False) -> ProjectLook:
        """For the page of all projects; a record that cannot be read is a problem of this one alone."""

        def read(feed: Feed) -> ProjectLook:
            return look_at(self.project, feed)

        if self.project.problem:
            return unreadable(self.project)
        try:
            return await (self.ask(read) if fresh else self._once(("look",), read))
        except RalphError as error:
            return unreadable(self.project, error)

    async def batch(self, run_id: str, after: int) -> Batch:
        return await self._once(("events", run_id, after), lambda feed: _batch(feed, run_id, after))

    async def progress(self, run_id: str) -> bytes | None:
        """The state of the run, and its newest iterations; None: the run was removed."""

        def read(feed: Feed) -> bytes | None:
            found = progress(feed, run_id, iterations=3)
            return None if found is None else encode(found)

        return await self._once(("run", run_id), read)

    async def stream(self, run_id: str, after: int) -> AsyncIterator[bytes]:
        """Server-sent events: each once and in order, even for a reader who was asleep for an hour.

        ``run_id`` empty: only the runs and boards. ``after`` is the number of the last event the reader saw.
        A reader of one run gets only the health of the record, not the whole state.
        """
        with self.watching():
            yield b"retry: %d\n\n" % RETRY
            sent: dict[str, bytes] = {}
            while not self.closing:
                changed = self._changed
                state = await (self.health() if run_id else self.state())
                if sent.get("state") != state:
                    sent["state"] = state
                    yield frame("state", state)
                if run_id:
                    try:
                        while True:
                            batch = await self.batch(run_id, after)
                            after = batch.last
                            if batch.frames:
                                yield batch.frames
                            if not batch.is_full:
                                break
                        progress = await self.progress(run_id)
                    except RalphError:
                        progress = sent.get("run", b"")  # the state reports the problem
                    if progress is None:
                        yield frame("gone", b"{}")
                        return
                    if progress and sent.get("run") != progress:
                        sent["run"] = progress
                        yield frame("run", progress)
                try:
                    await asyncio.wait_for(changed.wait(), BREATH)
                except TimeoutError:
                    yield b": still here\n\n"


def frame(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def is_seen(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()  # whoever asked has seen it; no one else needs to


def _state(feed: Feed) -> bytes:
    found, boards = feed.runs(limit=RUNS_SHOWN), feed.boards()
    runs = [
        run_data(run, feed.label(run.id), run_budget(feed.state_folder, run.id) if run.live else None)
        for run in found
    ]
    shown = [board_data(board) for board in boards]
    return encode({"runs": runs, "boards": shown, "ready": ready_tasks(found, boards)})


def _batch(feed: Feed, run_id: str, after: int) -> Batch:
    frames: list[bytes] = []
    size = 0
    events = feed.events(run_id, after, BATCH)
    for event in events:
        data = encode(happened(feed, run_id, event))
        frames.append(b"id: %d\nevent: happened\ndata: %b\n\n" % (event.seq, data))
        after = event.seq
        size += len(frames[-1])
        if size > BATCH_BYTES:
            break
    is_full = bool(frames) and (size > BATCH_BYTES or len(events) == BATCH)
    return Batch(b"".join(frames), after, is_full)


def happened(feed: Feed, run_id: str, event: FeedEvent) -> dict[str, Any]:
    """One event, as the page shows it."""
    each = feed.timeline(run_id).iteration_at(event.seq) if event.kind == "iteration_ended" else None
    return event_data(event, () if each is None else each.claims)


def progress(feed: Feed, run_id: str, *, iterations: int) -> dict[str, Any] | None:
    """The state of a run, its parts, and its newest iterations; None: there is no such run."""
    run = feed.run(run_id)
    if run is None:
        return None
    timeline = feed.timeline(run_id)
    return {
        "run": run_data(run, feed.label(run_id), run_budget(feed.state_folder, run_id)),
        "parts": [run_data(part, feed.label(part.id)) for part in feed.parts(run_id)],
        **timeline_data(timeline, timeline.iterations[-iterations:], live=run.live),
    }
