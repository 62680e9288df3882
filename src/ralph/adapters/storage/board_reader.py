"""Reads tasks of the record and stories of the plan for the board. What cannot be read is left out: no face fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralph.adapters.files import read_plain
from ralph.adapters.storage.task_cards import TaskCards
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.text.strict_json import parse_json
from ralph.domain.views.board import Board, CardDetail, CardKind, stories_in, story_board, story_detail

MOST_PLAN_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BoardRules:
    """What the project's settings say about its boards. ``problem``: why these may not be what it wants."""

    plan_folder: Path
    roles: CompletionDefaults = CompletionDefaults()
    problem: str = ""

    @property
    def plan(self) -> Path:
        return self.plan_folder / "tasks.json"


class BoardReader:
    """Reads again each time it is asked: the agent itself edits the plan. ``tasks`` None: the record has none."""

    def __init__(self, tasks: TaskCards | None, rules: BoardRules) -> None:
        self._tasks = tasks
        self._plan = rules.plan
        self._problem = rules.problem

    def boards(self) -> tuple[Board, ...]:
        tasks = None if self._tasks is None else self._tasks.board()
        found = [board for board in (tasks, self._stories()) if board is not None]
        return tuple(
            replace(board, problem="; ".join(filter(None, (board.problem, self._problem)))) for board in found
        )

    def card(self, kind: CardKind, card_id: str) -> CardDetail | None:
        if kind is CardKind.TASK:
            return None if self._tasks is None else self._tasks.detail(card_id)
        document, _ = self._read_plan()
        found = (story for story in stories_in(document or {}) if str(story.get("id")) == card_id)
        return next(map(story_detail, found), None)

    def _stories(self) -> Board | None:
        document, problem = self._read_plan()
        return story_board(document or {}, problem) if document is not None or problem else None

    def _read_plan(self) -> tuple[dict[str, Any] | None, str]:
        """The document, and what is wrong with it."""
        try:
            data = read_plain(self._plan, MOST_PLAN_BYTES + 1)
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"{self._plan.name} cannot be read: {error.strerror or error}"
        if len(data) > MOST_PLAN_BYTES:
            return None, f"{self._plan.name} is too large to show"
        try:
            document = parse_json(data.decode()).value
        except ValueError as error:
            return None, f"{self._plan.name} is not JSON: {error}"
        if not isinstance(document, dict):
            return None, f"{self._plan.name} is not a plan: it holds no object"
        return document, ""
