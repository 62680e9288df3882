"""The record's tasks as cards: by the role whose turn it is, then by how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ralph.adapters.storage.task_rows import COLUMNS, task_of
from ralph.domain.holder import Owner
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.views.board import Board, Card, CardDetail, CardKind, HistoryEntry, StageCriteria, laned
from ralph.domain.views.runs import is_alive
from ralph.domain.views.tasks import TaskView, view_of
from ralph.errors import StoreError

Query = Callable[..., list[tuple[Any, ...]]]
StartedOf = Callable[[int], str | None]

MOST_CARDS = 500
MOST_HISTORY = 200
ENDS = (
    ("accepted", "Accepted"),
    ("done", "Done"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
)
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
        cards = sorted(map(self._card, self._views(_SHOWN, MOST_CARDS)), key=lambda card: card.priority)
        lanes = [(role, self._roles.title(role)) for role in self._roles.roles]
        board = laned(CardKind.TASK, "Tasks", (*lanes, *ENDS), cards)
        more = count - len(cards)
        return replace(board, problem=f"{more:,} more are not shown" if more > 0 else "")

    def detail(self, task_id: str) -> CardDetail | None:
        views = self._views(f"{_TASKS} WHERE id = ?", task_id)
        if not views:
            return None
        task = views[0].task
        return CardDetail(
            card=self._card(views[0]),
            description="\n\n".join(text for text in (task.outcome, task.description) if text),
            criteria=task.acceptance_criteria,
            depends_on=task.dependencies,
            completion=tuple(_criteria(task, role, self._roles) for role in _roles(task, self._roles)),
            history=self._history(task.id),
        )

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

    def _card(self, view: TaskView) -> Card:
        task = view.task
        role = task.stage or next(iter(self._roles.roles), "")
        is_open = task.status is TaskStatus.OPEN
        waits = f"waits for {', '.join(view.waits_for)}" if view.waits_for else ""
        return Card(
            kind=CardKind.TASK,
            id=task.id,
            title=task.title,
            lane=role if is_open else task.status.value,
            status=view.state.value,
            role=role if is_open else "",
            iteration=task.used if is_open else task.iteration,
            maximum=_criteria(task, role, self._roles).maximum if is_open else None,
            rounds=task.rejections,
            note=task.reason or waits or (task.remarks[-1] if task.remarks and is_open else ""),
            priority=task.priority,
            run_id=view.run_id or "",
        )


def _readable(row: tuple[Any, ...]) -> Task | None:
    """A row that somebody damaged, or a later ralph wrote, must not take the others from the board."""
    try:
        return task_of(row)
    except StoreError:
        return None


def _roles(task: Task, known: CompletionDefaults) -> list[str]:
    """The project's, and those that the task has criteria of its own for."""
    own = task.completion_spec.criteria if task.completion_spec is not None else {}
    return list(dict.fromkeys((*known.roles, *own)))


def _criteria(task: Task, role: str, known: CompletionDefaults) -> StageCriteria:
    """A spec that makes no sense is shown as it stands, by its role alone."""
    try:
        criteria = criteria_for(task, role, known)
    except (ValueError, TypeError, KeyError, AttributeError):
        return StageCriteria(role=role)
    return StageCriteria(
        role=role,
        method=str(criteria.verification_method),
        promise=criteria.promise,
        description=criteria.description,
        maximum=criteria.max_iterations,
    )
