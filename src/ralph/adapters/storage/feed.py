"""The record as faces follow it: what is new since an event's number. Reads only, in short queries."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ralph.adapters.storage.board_reader import BoardReader, BoardRules, TaskCards
from ralph.adapters.storage.database import StartedOf
from ralph.adapters.storage.run_reader import RunReader, open_reader
from ralph.adapters.storage.wire import restore
from ralph.domain.holder import Owner
from ralph.domain.loop.events import IterationStarted
from ralph.domain.views.board import Board, CardDetail, CardKind
from ralph.domain.views.iterations import IterationView, Timeline
from ralph.domain.views.runs import FeedEvent, Head, RunLabel, RunView, label_of

if TYPE_CHECKING:
    from ralph.adapters.storage.figures import RecordFigures
    from ralph.domain.telemetry.exposition import Labels

DEFAULT_LIMIT = 500
LANDMARKS_AT_ONCE = 1000
TIMELINES_KEPT = 64
MOST_PARTS = 500
LABELS_KEPT = 2000

_ROW = "SELECT seq, iteration, at, kind, data FROM events"
_AFTER = f"{_ROW} WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_BEFORE = f"{_ROW} WHERE run_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
_LANDMARKS = f"{_ROW} WHERE run_id = ? AND seq > ? AND kind <> 'agent_acted' ORDER BY seq LIMIT ?"
_NEWEST_LANDMARKS = f"{_ROW} WHERE run_id = ? AND kind <> 'agent_acted' ORDER BY seq DESC LIMIT ?"
_HAS_TASKS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tasks'"
_HAS_PARENTS = "SELECT 1 FROM pragma_table_info('runs') WHERE name = 'parent_id'"
_PARTS = "SELECT id FROM runs WHERE parent_id = ? ORDER BY started_at, id LIMIT ?"
_OPTIONS = "SELECT options FROM runs WHERE id = ?"
_FIRST_ITERATION = """SELECT data FROM events WHERE run_id = ? AND kind <> 'agent_acted'
    AND kind = 'iteration_started' ORDER BY seq LIMIT 1"""  # <> is what lets SQLite use the index of landmarks
_NEVER = 2**63 - 1


class Feed:
    """One reader, for one thread. There need not be a record yet, and it may be replaced meanwhile.

    ``here`` and ``started_of`` tell live runs from interrupted ones; ``rules`` returns what the settings say about the
    boards now. Everything raises StoreError if the record cannot be read.
    """

    def __init__(
        self,
        state_folder: Path,
        *,
        here: Owner,
        started_of: StartedOf,
        rules: Callable[[], BoardRules] | None = None,
    ) -> None:
        self._path = state_folder / "ralph.db"
        self._folder = state_folder
        self._here = here
        self._started_of = started_of
        self._rules = rules or (lambda: BoardRules(state_folder.parent / "ralph"))
        self._reader: RunReader | None = None
        self._file = 0
        self._timelines: dict[str, Timeline] = {}
        self._labels: dict[str, RunLabel] = {}
        self._figures: RecordFigures | None = None

    @property
    def state_folder(self) -> Path:
        return self._folder

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader, self._file = None, 0
        self._timelines.clear()
        self._labels.clear()
        self._figures = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> Head:
        """Costs microseconds: poll it, and ask for the rest only when it differs."""
        reader = self._open()
        plan = 0
        with contextlib.suppress(OSError):
            plan = self._rules().plan.stat().st_mtime_ns
        if reader is None:
            return Head(plan=plan)
        version = reader.query("PRAGMA data_version")[0][0]
        seq = reader.query("SELECT max(seq) FROM events")[0][0]
        return Head(self._file, int(version), int(seq or 0), plan)

    # --- runs ---

    def runs(self, *, limit: int | None = None) -> list[RunView]:
        """Live ones first, then the newest."""
        reader = self._open()
        if reader is None:
            return []
        return reader.runs(here=self._here, started_of=self._started_of, limit=limit)

    def run(self, run_id: str) -> RunView | None:
        """None: there is no such run."""
        reader = self._open()
        return None if reader is None else reader.run(run_id, here=self._here, started_of=self._started_of)

    def parts(self, run_id: str) -> list[RunView]:
        """The runs that are a part of it, in the order in which they began: tasks of a `ralph work`, children."""
        if not self._query(_HAS_PARENTS):
            return []
        found = (self.run(name) for (name,) in self._query(_PARTS, run_id, MOST_PARTS))
        return [part for part in found if part is not None]

    def label(self, run_id: str) -> RunLabel:
        """What the run was asked to do; empty if there is no such run."""
        self._open()  # forgets the labels of a record that was replaced
        known = self._labels.get(run_id)
        if known is None:
            rows = self._query(_OPTIONS, run_id)
            if not rows:
                return RunLabel()
            known = _label(rows[0][0], self._first_prompt(run_id))
            if known.title:  # otherwise its first prompt may be yet to come
                if len(self._labels) >= LABELS_KEPT:
                    self._labels.clear()
                self._labels[run_id] = known
        return known

    def _first_prompt(self, run_id: str) -> str:
        rows = self._query(_FIRST_ITERATION, run_id)
        begun = restore(rows[0][0]) if rows else None
        return begun.prompt if isinstance(begun, IterationStarted) else ""

    # --- events ---

    def events(self, run_id: str, after_seq: int = 0, limit: int = DEFAULT_LIMIT) -> list[FeedEvent]:
        """The next ones, in order; fewer than ``limit`` means that there are no more yet."""
        return self._events(_AFTER, run_id, after_seq, limit)

    def newest(self, run_id: str, limit: int = DEFAULT_LIMIT) -> list[FeedEvent]:
        """The last ones, in order: what a screen shows first."""
        return self.before(run_id, _NEVER, limit)

    def before(self, run_id: str, before_seq: int, limit: int = DEFAULT_LIMIT) -> list[FeedEvent]:
        """The ones just before a number, in order: for scrolling back."""
        return self._events(_BEFORE, run_id, before_seq, limit)[::-1]

    def landmarks(self, run_id: str, after_seq: int, limit: int) -> list[FeedEvent]:
        """As ``events``, without the agent's words and tools."""
        return self._events(_LANDMARKS, run_id, after_seq, limit)

    def newest_landmarks(self, run_id: str, limit: int) -> list[FeedEvent]:
        return self._events(_NEWEST_LANDMARKS, run_id, limit)[::-1]

    def _events(self, query: str, *values: object) -> list[FeedEvent]:
        return [FeedEvent(*row) for row in self._query(query, *values)]

    # --- iterations ---

    def timeline(self, run_id: str) -> Timeline:
        """Its iterations so far; later calls read only the landmarks that are new."""
        reader = self._open()
        if reader is None:
            return Timeline()
        timeline = self._timelines.pop(run_id, None)
        if timeline is None or (timeline.seq and not reader.query("SELECT 1 FROM runs WHERE id = ?", run_id)):
            timeline = Timeline()
        self._timelines[run_id] = timeline  # the most recently used one last
        if len(self._timelines) > TIMELINES_KEPT:
            del self._timelines[next(iter(self._timelines))]
        while rows := reader.query(_LANDMARKS, run_id, timeline.seq, LANDMARKS_AT_ONCE):
            for seq, _, at, _, data in rows:
                timeline.take(seq, at, restore(data))
        return timeline

    def iterations(self, run_id: str) -> Sequence[IterationView]:
        return self.timeline(run_id).iterations

    def figures(self) -> Mapping[tuple[str, Labels], float]:
        """Sums over all runs, by a metric's name and labels; later calls read only what is new."""
        from ralph.adapters.storage.figures import RecordFigures  # only whoever asks for metrics needs it

        reader = self._open()
        if reader is None:
            return {}
        if self._figures is None:
            self._figures = RecordFigures()
        return self._figures.look(reader.query)

    # --- the board ---

    def boards(self) -> tuple[Board, ...]:
        """One for the tasks and one for the plan's stories, if there are any."""
        return self._board().boards()

    def card(self, kind: CardKind, card_id: str) -> CardDetail | None:
        return self._board().card(kind, card_id)

    def _board(self) -> BoardReader:
        reader, rules = self._open(), self._rules()
        if reader is None or not reader.query(_HAS_TASKS):
            return BoardReader(None, rules)
        tasks = TaskCards(
            reader.query,
            here=self._here,
            started_of=self._started_of,
            roles=rules.roles,
            state_folder=self._path.parent,
        )
        return BoardReader(tasks, rules)

    # --- the file ---

    def _open(self) -> RunReader | None:
        """The record may come, go and be replaced while it is watched."""
        file = 0
        with contextlib.suppress(OSError):
            file = self._path.stat().st_ino
        if self._reader is None or file != self._file:
            self.close()
            self._reader = open_reader(self._folder)
            self._file = file if self._reader is not None else 0
        return self._reader

    def _query(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        reader = self._open()
        return [] if reader is None else reader.query(query, *values)


def _label(options: str, first_prompt: str) -> RunLabel:
    try:
        known = json.loads(options)
    except (ValueError, RecursionError):
        known = {}
    return label_of(known if isinstance(known, dict) else {}, first_prompt)
