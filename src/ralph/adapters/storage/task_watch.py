"""Notices what others do to the tasks, by comparing the rows with those that were seen last."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from ralph.adapters.storage.database import path_of, store_errors, transaction
from ralph.adapters.storage.task_rows import CHANGEABLE, CHANGEABLE_PLACES, row_of
from ralph.adapters.storage.tasks import EVENT, INSERT, TaskStore
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.outside_changes import OutsideChange, outside_changes
from ralph.domain.tasks.task import Task

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
    _known: dict[str, Task] | None = field(default=None, init=False)
    _seen: tuple[int, int] = field(default=(0, 0), init=False)  # the newest event and removal

    def look(self, own: Collection[str]) -> Sequence[str]:
        """Put back what was written around ralph; gives what the user should know at the end. ``own``: worked on here."""
        with store_errors(path_of(self.database)), transaction(self.database):
            found = {task.id: task for task in self.store.list()}
            changes = self._changes(found, own) if self._known is not None else []
            for change in changes:
                if (task := change.put_back) is not None:
                    self._put_back(task, is_there=task.id in found)
                    found[task.id] = task
            self._known = found
            self._seen = self.database.execute(LAST).fetchone()
        for change in changes:
            self.warn(change.told)
        return [change.told for change in changes if change.is_grave]

    def settled(self, task_id: str) -> None:
        """The work on it has ended: from now on nobody but the user changes it."""
        task = self.store.find(task_id)
        if self._known is not None and task is not None:
            self._known[task.id] = task

    def _changes(self, found: dict[str, Task], own: Collection[str]) -> list[OutsideChange]:
        events, removals = self._seen
        traces = {
            str(name): TaskEvent(kind, text, at)
            for _, name, kind, text, at in self.database.execute(EVENTS_SINCE, (events,))
            if kind != UNDONE
        }
        removed = {str(name) for (name,) in self.database.execute(REMOVED_SINCE, (removals,))}
        return list(outside_changes(self._known or {}, found, traces=traces, removed=removed, own=own))

    def _put_back(self, task: Task, *, is_there: bool) -> None:
        if is_there:
            self.database.execute(PUT_BACK, (*row_of(task)[1:], task.id))
        else:
            self.database.execute(INSERT, row_of(task))
        self.database.execute(EVENT, (task.id, self.now(), UNDONE, "changed around ralph"))
