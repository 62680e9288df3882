"""Notices what others do to the tasks, by comparing the rows with those that were seen last."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence

from ralph.adapters.storage.database import path_of, store_errors, transaction
from ralph.adapters.storage.task_rows import CHANGEABLE, CHANGEABLE_PLACES, Row, row_of, task_of
from ralph.adapters.storage.tasks import EVENT, INSERT, SELECT, TaskStore
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.outside_changes import OutsideChange, outside_changes
from ralph.domain.tasks.task import Task
from ralph.values import dataclass, field

EVENTS_SINCE = "SELECT seq, task_id, kind, text, at FROM task_events WHERE seq > ? ORDER BY seq"
REMOVED_SINCE = "SELECT task_id FROM task_removals WHERE seq > ?"
LAST = """SELECT (SELECT coalesce(max(seq), 0) FROM task_events),
    (SELECT coalesce(max(seq), 0) FROM task_removals)"""
PUT_BACK = f"UPDATE tasks SET ({CHANGEABLE}) = ({CHANGEABLE_PLACES}) WHERE id = ?"  # noqa: S608
UNDONE = "undone"


@dataclass(slots=True)
class TaskWatch:
    """``warn`` tells the user at once."""

    store: TaskStore
    database: sqlite3.Connection
    warn: Callable[[str], None]
    now: Callable[[], float]
    # As rows: of thousands of tasks hardly one has changed, and reading it takes longer than comparing it.
    _known: dict[str, Row] | None = field(default=None, init=False)
    _seen: tuple[int, int] = field(default=(0, 0), init=False)  # the newest event and removal
    _version: tuple[int, int] = field(default=(-1, -1), init=False)

    def look(self, own: Collection[str]) -> Sequence[str]:
        """Put back what was written around ralph; gives what the user should know at the end. ``own``: worked on here."""
        with store_errors(path_of(self.database)):
            if self._version == (version := self._current_version()):
                return []
            with transaction(self.database):
                found: dict[str, Row] = {row[0]: row for row in self.database.execute(SELECT)}
                changes = self._changes(self._known, found, own) if self._known is not None else []
                for change in changes:
                    if (task := change.put_back) is not None:
                        self._put_back(task, is_there=task.id in found)
                        found[task.id] = row_of(task)
                self._known = found
                self._seen = self.database.execute(LAST).fetchone()
            # What is written from here on, by whomever, is another version.
            self._version = version if not changes else (-1, -1)
        for change in changes:
            self.warn(change.told)
        return [change.told for change in changes if change.is_grave]

    def settled(self, task_id: str) -> None:
        """The work on it has ended: from now on nobody but the user changes it."""
        task = self.store.find(task_id)
        if self._known is not None and task is not None:
            self._known[task.id] = row_of(task)

    def _current_version(self) -> tuple[int, int]:
        """Differs whenever another connection has written to the record, or this one."""
        (others,) = self.database.execute("PRAGMA data_version").fetchone()
        return int(others), self.database.total_changes

    def _changes(
        self, known: dict[str, Row], found: dict[str, Row], own: Collection[str]
    ) -> list[OutsideChange]:
        before = {name: task_of(row) for name, row in known.items() if found.get(name) != row}
        if not before:
            return []
        after = {name: task_of(found[name]) for name in before if name in found}
        events, removals = self._seen
        traces = {
            str(name): TaskEvent(kind, text, at)
            for _, name, kind, text, at in self.database.execute(EVENTS_SINCE, (events,))
            if kind != UNDONE
        }
        removed = {str(name) for (name,) in self.database.execute(REMOVED_SINCE, (removals,))}
        return list(outside_changes(before, after, traces=traces, removed=removed, own=own))

    def _put_back(self, task: Task, *, is_there: bool) -> None:
        if is_there:
            self.database.execute(PUT_BACK, (*row_of(task)[1:], task.id))
        else:
            self.database.execute(INSERT, row_of(task))
        self.database.execute(EVENT, (task.id, self.now(), UNDONE, "changed around ralph"))
