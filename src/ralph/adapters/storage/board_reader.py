"""Reads tasks of the record and stories of the plan for the board. What cannot be read is left out: no face fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph.adapters import beneath
from ralph.adapters.storage.database import StartedOf
from ralph.adapters.storage.liveness import is_gone
from ralph.adapters.storage.task_rows import COLUMNS, task_of
from ralph.domain.holder import Owner
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.text.masking import mask_all, mask_text
from ralph.domain.text.strict_json import parse_json
from ralph.domain.views.board import (
    Board,
    CardDetail,
    CardKind,
    HistoryEntry,
    stories_in,
    story_board,
    story_detail,
    task_board,
    task_detail,
)
from ralph.domain.views.tasks import TaskView, view_of
from ralph.errors import StoreError
from ralph.values import dataclass, replace

Query = Callable[..., list[tuple[Any, ...]]]

MOST_PLAN_BYTES = 8 * 1024 * 1024
MOST_CARDS = 500
MOST_HISTORY = 200
_STATUSES = frozenset(TaskStatus)

_TASKS = f"SELECT {COLUMNS} FROM tasks"  # noqa: S608 (our own words)
# Open tasks matter most, then those that changed last; a board of thousands is no board.
_SHOWN = f"{_TASKS} ORDER BY status = 'open' DESC, updated_at DESC, priority, number LIMIT ?"
_UNFINISHED = (
    "SELECT id, status FROM tasks WHERE status <> 'done' AND id IN (SELECT needs_id FROM task_dependencies)"
)
_CLAIMS = "SELECT task_id, run_id, pid, process_started, boot_id, host FROM task_claims"
_VERIFICATIONS = """SELECT at, role, iteration, method, verified, reason, run_id FROM verifications
    WHERE task_id = ? ORDER BY seq DESC LIMIT ?"""
_EVENTS = "SELECT at, kind, text FROM task_events WHERE task_id = ? ORDER BY seq DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class TaskCards:
    """Reads a record that has tasks; ``roles`` are the project's, in the order of its pipeline."""

    query: Query
    here: Owner
    started_of: StartedOf
    roles: CompletionDefaults
    state_folder: Path

    def board(self) -> Board | None:
        """None: there are no tasks."""
        count = self.query("SELECT count(*) FROM tasks")[0][0]
        if not count:
            return None
        views = self._views(_SHOWN, MOST_CARDS)
        return task_board(views, self.roles, hidden=count - len(views))

    def detail(self, task_id: str) -> CardDetail | None:
        views = self._views(f"{_TASKS} WHERE id = ?", task_id)
        return task_detail(views[0], self.roles, self._history(task_id)) if views else None

    def _views(self, query: str, *values: object) -> list[TaskView]:
        unfinished = {
            name: TaskStatus(status) for name, status in self.query(_UNFINISHED) if status in _STATUSES
        }
        claims = {
            task_id: run_id
            for task_id, run_id, *owner in self.query(_CLAIMS)
            if not is_gone(
                Owner(*owner),
                run_id,
                here=self.here,
                started_of=self.started_of,
                state_folder=self.state_folder,
            )
        }
        tasks = (_readable(row) for row in self.query(query, *values))
        return [view_of(task, unfinished, claims.get(task.id)) for task in tasks if task is not None]

    def _history(self, task_id: str) -> tuple[HistoryEntry, ...]:
        """Newest first."""
        entries = [
            HistoryEntry(
                at=at,
                role=role,
                iteration=iteration,
                what=method,
                verdict="passed" if verified else "failed",
                reason=reason,
                run_id=run_id,
            )
            for at, role, iteration, method, verified, reason, run_id in self.query(
                _VERIFICATIONS, task_id, MOST_HISTORY
            )
        ]
        entries += [
            HistoryEntry(at=at, what=kind, reason=text)
            for at, kind, text in self.query(_EVENTS, task_id, MOST_HISTORY)
        ]
        return tuple(sorted(entries, key=lambda entry: entry.at, reverse=True)[:MOST_HISTORY])


def _readable(row: tuple[Any, ...]) -> Task | None:
    """A damaged row, or one that a later ralph wrote, must not hide the others."""
    try:
        return task_of(row)
    except StoreError:
        return None


@dataclass(frozen=True, slots=True)
class BoardRules:
    """What the project's settings say about its boards. ``problem``: why the settings could not be used."""

    plan_folder: Path
    roles: CompletionDefaults = CompletionDefaults()
    problem: str = ""

    @property
    def plan(self) -> Path:
        return self.plan_folder / "tasks.json"


@dataclass(frozen=True, slots=True)
class BoardReader:
    """Reads again on each call: the agent itself edits the plan. ``tasks`` None: the record has none."""

    tasks: TaskCards | None
    rules: BoardRules

    def boards(self) -> tuple[Board, ...]:
        tasks = None if self.tasks is None else self.tasks.board()
        found = [board for board in (tasks, self._stories()) if board is not None]
        return tuple(
            replace(board, problem="; ".join(filter(None, (board.problem, self.rules.problem))))
            for board in found
        )

    def card(self, kind: CardKind, card_id: str) -> CardDetail | None:
        """Without secrets of what the user wrote, and agents did."""
        return mask_all(self._card(kind, card_id), mask_text)

    def _card(self, kind: CardKind, card_id: str) -> CardDetail | None:
        if kind is CardKind.TASK:
            return None if self.tasks is None else self.tasks.detail(card_id)
        document, _ = self._read_plan()
        plan = document or {}
        found = (story for story in stories_in(plan) if str(story.get("id")) == card_id)
        return next((story_detail(story, plan) for story in found), None)

    def _stories(self) -> Board | None:
        document, problem = self._read_plan()
        return story_board(document or {}, problem) if document is not None or problem else None

    def _read_plan(self) -> tuple[dict[str, Any] | None, str]:
        """The document, and what is wrong with it."""
        plan = self.rules.plan
        try:
            data = beneath.read_plain(plan, MOST_PLAN_BYTES + 1)
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"{plan.name} cannot be read: {error.strerror or error}"
        if len(data) > MOST_PLAN_BYTES:
            return None, f"{plan.name} is too large to show"
        try:
            document = parse_json(data.decode()).value
        except ValueError as error:
            return None, f"{plan.name} is not JSON: {error}"
        if not isinstance(document, dict):
            return None, f"{plan.name} is not a plan: it is not a JSON object"
        return document, ""
