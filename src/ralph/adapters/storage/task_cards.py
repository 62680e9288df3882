"""Reads the record's tasks for the board."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ralph.adapters.storage.task_rows import COLUMNS, task_of
from ralph.domain.holder import Owner
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.board import Board, CardDetail, HistoryEntry, task_board, task_detail
from ralph.domain.views.runs import is_alive
from ralph.domain.views.tasks import TaskView, view_of
from ralph.errors import StoreError

Query = Callable[..., list[tuple[Any, ...]]]
StartedOf = Callable[[int], str | None]

MOST_CARDS = 500
MOST_HISTORY = 200
_STATUSES = frozenset(TaskStatus)

_TASKS = f"SELECT {COLUMNS} FROM tasks"  # noqa: S608 (our own words)
# What is open matters most, then what was touched last; a board of thousands is no board.
_SHOWN = f"{_TASKS} ORDER BY status = 'open' DESC, updated_at DESC, priority, number LIMIT ?"
_UNFINISHED = (
    "SELECT id, status FROM tasks WHERE status <> 'done' AND id IN (SELECT needs_id FROM task_dependencies)"
)
_CLAIMS = "SELECT task_id, run_id, pid, process_started, boot_id, host FROM task_claims"
_VERIFICATIONS = """SELECT at, role, iteration, method, verified, reason, run_id FROM verifications
    WHERE task_id = ? ORDER BY seq DESC LIMIT ?"""
_EVENTS = "SELECT at, kind, text FROM task_events WHERE task_id = ? ORDER BY seq DESC LIMIT ?"


class TaskCards:
    """Over a record that has tasks; ``roles`` are the project's, in the order of its pipeline."""

    def __init__(
        self, query: Query, *, here: Owner, started_of: StartedOf, roles: CompletionDefaults | None = None
    ) -> None:
        self._query = query
        self._here = here
        self._started_of = started_of
        self._roles = roles or CompletionDefaults()

    def board(self) -> Board | None:
        """None: there are no tasks."""
        count = self._query("SELECT count(*) FROM tasks")[0][0]
        if not count:
            return None
        views = self._views(_SHOWN, MOST_CARDS)
        return task_board(views, self._roles, hidden=count - len(views))

    def detail(self, task_id: str) -> CardDetail | None:
        views = self._views(f"{_TASKS} WHERE id = ?", task_id)
        return task_detail(views[0], self._roles, self._history(task_id)) if views else None

    def _views(self, query: str, *values: object) -> list[TaskView]:
        unfinished = {
            name: TaskStatus(status) for name, status in self._query(_UNFINISHED) if status in _STATUSES
        }
        claims = {
            task_id: run_id
            for task_id, run_id, *owner in self._query(_CLAIMS)
            if is_alive(Owner(*owner), here=self._here, started_of=self._started_of)
        }
        tasks = (_readable(row) for row in self._query(query, *values))
        return [view_of(task, unfinished, claims.get(task.id)) for task in tasks if task is not None]

    def _history(self, task_id: str) -> tuple[HistoryEntry, ...]:
        """The newest first."""
        verifications = [
            HistoryEntry(
                at=at,
                role=role,
                iteration=iteration,
                what=method,
                verdict="passed" if verified else "failed",
                reason=reason,
                run_id=run_id,
            )
            for at, role, iteration, method, verified, reason, run_id in self._query(
                _VERIFICATIONS, task_id, MOST_HISTORY
            )
        ]
        events = [
            HistoryEntry(at=at, what=kind, reason=text)
            for at, kind, text in self._query(_EVENTS, task_id, MOST_HISTORY)
        ]
        return tuple(
            sorted((*verifications, *events), key=lambda entry: entry.at, reverse=True)[:MOST_HISTORY]
        )


def _readable(row: tuple[Any, ...]) -> Task | None:
    """A row that somebody damaged, or a later ralph wrote, must not take the others from the board."""
    try:
        return task_of(row)
    except StoreError:
        return None
