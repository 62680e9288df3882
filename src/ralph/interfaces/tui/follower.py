"""What the screen reads from the record at each look, and how it follows one run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from ralph.domain.agent.events import TodoItem
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.events import RunStarted
from ralph.domain.views.board import Board
from ralph.domain.views.iterations import CheckRate, IterationView, Note
from ralph.domain.views.pull_request import PullRequestView
from ralph.domain.views.runs import RunView
from ralph.interfaces.tui.lines import Kind, Line
from ralph.interfaces.tui.stream_text import StreamText
from ralph.operations.watch import Feed, run_budget
from ralph.values import dataclass, field

FIRST_EVENTS = 400
AT_ONCE = 500
MOST_BEHIND = 2_000
"""Events read in one look. A screen that is further behind jumps to the end."""
RUNS_SHOWN = 200
RUNS_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLook:
    """The watched run, and what is new in it. ``run`` None: it was removed."""

    run: RunView | None
    lines: Sequence[Line] = ()
    is_fresh: bool = False  # earlier lines were left out or belong to another run
    iterations: Sequence[IterationView] = ()
    notes: Sequence[Note] = ()
    rates: Sequence[CheckRate] = ()
    started: RunStarted | None = None
    pull_requests: tuple[PullRequestView, ...] = ()  # the newest look last
    todo: Sequence[TodoItem] = ()
    tool: str = ""
    budget: Budget = Budget()
    is_behind: bool = False  # there is more to read


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the record; None for what was not asked for."""

    runs: Sequence[RunView] | None = None
    boards: Sequence[Board] | None = None
    watched: RunLook | None = None


@dataclass(slots=True)
class Follower:
    """What was read of one run so far. Only the watch's thread uses it."""

    run_id: str
    zone: tzinfo | None = None
    first: int = 0
    last: int = 0
    budget: Budget | None = None
    text: StreamText = field(default_factory=StreamText)
    _rated: tuple[int, Sequence[CheckRate]] = (-1, ())

    def look(self, feed: Feed, *, lines: bool = True) -> RunLook:
        """``lines`` False: the stream has no room for more."""
        run = feed.run(self.run_id)
        if run is None:
            return RunLook(run=None)
        if self.budget is None:
            self.budget = run_budget(feed.state_folder, self.run_id)
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
            pull_requests=tuple(timeline.pull_requests.values()),
            todo=self.text.todo,
            tool=self.text.tool,
            budget=self.budget,
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
                lines.insert(0, Line(Kind.LOOP, "dim", "… scroll up for earlier lines"))
        return lines

    def older(self, feed: Feed) -> list[Line]:
        """The lines before the first that was read."""
        events = feed.before(self.run_id, self.first, AT_ONCE) if self.first else []
        if not events:
            return []
        self.first = events[0].seq
        text = StreamText(self.zone)
        return [line for event in events for line in text.take(event)]

    def restart(self) -> None:
        """Read the end again at the next look."""
        self.first = self.last = 0
