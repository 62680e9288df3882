"""Tasks of the record and stories of the plan as cards. What cannot be read makes the board poorer, never a face fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralph.adapters.files import read_plain
from ralph.adapters.storage.task_cards import TaskCards
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.text.strict_json import parse_json
from ralph.domain.views.board import Board, Card, CardDetail, CardKind, laned

MOST_PLAN_BYTES = 8 * 1024 * 1024
STORY_LANES = (
    ("todo", "To do"),
    ("needs_review", "Needs review"),
    ("changes_requested", "Changes requested"),
    ("approved", "Approved"),
)


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
    """Reads anew each time it is asked: the agent itself edits the plan. ``tasks`` None: the record has none."""

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
        if kind is CardKind.STORY:
            found = (story for story in self._entries()[1] if str(story.get("id")) == card_id)
            story = next(found, None)
            return None if story is None else _story_detail(story)
        return None if self._tasks is None else self._tasks.detail(card_id)

    # --- the plan ---

    def _stories(self) -> Board | None:
        document, entries, problem = self._read_plan()
        if document is None and not problem:
            return None
        title = str((document or {}).get("project") or "Plan")
        board = laned(CardKind.STORY, title, STORY_LANES, map(_story_card, entries))
        return Board(board.kind, board.title, board.lanes, problem)

    def _entries(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        document, entries, _ = self._read_plan()
        return document, entries

    def _read_plan(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]], str]:
        """The document, its stories by priority, and what is wrong with it."""
        try:
            data = read_plain(self._plan, MOST_PLAN_BYTES + 1)
        except FileNotFoundError:
            return None, [], ""
        except OSError as error:
            return None, [], f"{self._plan.name} cannot be read: {error.strerror or error}"
        if len(data) > MOST_PLAN_BYTES:
            return None, [], f"{self._plan.name} is too large to show"
        try:
            document = parse_json(data.decode()).value
        except ValueError as error:
            return None, [], f"{self._plan.name} is not JSON: {error}"
        if not isinstance(document, dict):
            return None, [], f"{self._plan.name} is not a plan: it holds no object"
        stories = document.get("userStories")
        entries = [story for story in stories if isinstance(story, dict)] if isinstance(stories, list) else []
        return document, sorted(entries, key=lambda story: _whole(story.get("priority"))), ""


def _story_card(story: dict[str, Any]) -> Card:
    review = story.get("reviewStatus")
    passes = story.get("passes") is True
    lane = review if isinstance(review, str) and review else "approved" if passes else "todo"
    return Card(
        kind=CardKind.STORY,
        id=str(story.get("id", "")),
        title=str(story.get("title", "")),
        lane=lane,
        status="passes" if passes else "",
        rounds=_whole(story.get("reviewCount")),
        note=str(story.get("reviewFeedback") or ""),
        priority=_whole(story.get("priority")),
    )


def _story_detail(story: dict[str, Any]) -> CardDetail:
    return CardDetail(
        card=_story_card(story),
        description=str(story.get("description") or story.get("notes") or ""),
        criteria=_texts(story.get("acceptanceCriteria")),
        depends_on=_texts(story.get("dependsOn")),
    )


def _texts(value: object) -> tuple[str, ...]:
    items: Iterable[object] = value if isinstance(value, list) else ()
    return tuple(str(item) for item in items)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
