"""Reading the record beside the screen: one thread, one feed, short questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TypeVar

from ralph.adapters.storage.feed import Feed
from ralph.adapters.storage.run_request import load_request
from ralph.domain.agent.events import TodoItem
from ralph.domain.loop.events import RunStarted
from ralph.domain.views.board import Board
from ralph.domain.views.iterations import CheckRate, Head, IterationSummary, Note
from ralph.domain.views.runs import RunView
from ralph.errors import RalphError
from ralph.interfaces.tui.stream_line import Kind, Line
from ralph.interfaces.tui.stream_text import StreamText
from ralph.operations.watch import open_feed

T = TypeVar("T")

FIRST_EVENTS = 400
AT_ONCE = 500
MOST_BEHIND = 2_000
"""Events read in one look. Who is further behind goes on at the end: nobody reads thousands of lines in a moment."""
RUNS_SHOWN = 200
RUNS_LOOKED_AT = 20


class Watch:
    """Everything it is asked is answered by one thread: the feed is for one."""

    def __init__(self, state_folder: Path) -> None:
        self.state_folder = state_folder
        self._thread = ThreadPoolExecutor(1, "ralph-feed")
        self._feed: Feed | None = None

    async def ask(self, question: Callable[[Feed], T]) -> T:
        """Raises RalphError if the record cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: Callable[[Feed], T]) -> T:
        if self._feed is None:
            self._feed = open_feed(self.state_folder)
        return question(self._feed)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._feed is not None:
            self._feed.close()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use, as it was asked for; None is unlimited or not known."""

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


def limits_of(state_folder: Path, run_id: str) -> Limits:
    try:
        settings = load_request(state_folder / "runs" / run_id).settings
    except RalphError:
        return Limits()
    limits = settings.get("limits")
    if not isinstance(limits, dict):
        return Limits()
    cost, tokens, seconds = (limits.get(name) for name in ("maxCost", "maxTokens", "maxTime"))
    return Limits(
        float(cost) if isinstance(cost, int | float) else None,
        tokens if isinstance(tokens, int) else None,
        float(seconds) if isinstance(seconds, int | float) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLook:
    """How the run that is watched stands, and what is new in it. ``run`` None: it is gone."""

    run: RunView | None
    lines: Sequence[Line] = ()
    is_fresh: bool = False  # the lines before these were left out or belong to another run
    iterations: Sequence[IterationSummary] = ()
    notes: Sequence[Note] = ()
    rates: Sequence[CheckRate] = ()
    started: RunStarted | None = None
    todo: Sequence[TodoItem] = ()
    tool: str = ""
    limits: Limits = Limits()
    is_behind: bool = False  # there is more to read


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the record. What was not asked for is None."""

    head: Head
    runs: Sequence[RunView] | None = None
    boards: Sequence[Board] | None = None
    watched: RunLook | None = None


@dataclass(slots=True)
class Follower:
    """What was read of one run so far. Used by the watch's thread only."""

    run_id: str
    zone: tzinfo | None = None
    first: int = 0
    last: int = 0
    limits: Limits | None = None
    text: StreamText = field(default_factory=StreamText)
    _rated: tuple[int, Sequence[CheckRate]] = (-1, ())

    def look(self, feed: Feed, *, lines: bool = True) -> RunLook:
        """``lines`` False: nobody has room for more of them now."""
        run = feed.run(self.run_id)
        if run is None:
            return RunLook(run=None)
        if self.limits is None:
            self.limits = limits_of(feed.state_folder, self.run_id)
        is_fresh, new, is_behind = self._read(feed) if lines else (False, [], False)
        timeline = feed.timeline(self.run_id)
        judged = sum(each.is_judged for each in timeline.iterations[-2:]) + len(timeline.iterations)
        if judged != self._rated[0]:
            self._rated = (judged, timeline.figures.check_rates)
        return RunLook(
            run=run,
            lines=new,
            is_fresh=is_fresh,
            iterations=list(timeline.iterations),
            notes=list(timeline.notes[-50:]),
            rates=self._rated[1],
            started=timeline.started,
            todo=self.text.todo,
            tool=self.text.tool,
            limits=self.limits,
            is_behind=is_behind,
        )

    def _read(self, feed: Feed) -> tuple[bool, list[Line], bool]:
        if not self.last:
            return True, self._newest(feed), False
        events = feed.events(self.run_id, self.last, MOST_BEHIND)
        if len(events) == MOST_BEHIND:
            return True, self._newest(feed), True
        lines = [line for event in events for line in self.text.take(event)]
        if events:
            self.last = events[-1].seq
        return False, lines, False

    def _newest(self, feed: Feed) -> list[Line]:
        events = feed.newest(self.run_id, FIRST_EVENTS)
        self.text = StreamText(self.zone)
        lines = [line for event in events for line in self.text.take(event)]
        if events:
            self.first, self.last = events[0].seq, events[-1].seq
            if feed.before(self.run_id, self.first, 1):
                lines.insert(0, Line(Kind.LOOP, "dim", "… there is more above: scroll up to read it"))
        return lines

    def older(self, feed: Feed) -> list[Line]:
        """Those before the first that was read."""
        events = feed.before(self.run_id, self.first, AT_ONCE) if self.first else []
        if not events:
            return []
        self.first = events[0].seq
        text = StreamText(self.zone)
        return [line for event in events for line in text.take(event)]

    def restart(self) -> None:
        """Read the end anew at the next look."""
        self.first = self.last = 0
