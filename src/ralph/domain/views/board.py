"""The board: tasks, or the stories of a plan, as cards in lanes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class CardKind(StrEnum):
    TASK = "task"  #: a row of the record
    STORY = "story"  #: an entry of the plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A task or a story, as small as a board shows it."""

    kind: CardKind
    id: str
    title: str
    lane: str
    status: str = ""
    role: str = ""  # whose turn it is
    iteration: int = 0  # used in this stage
    maximum: int | None = None
    rounds: int = 0  # reviews so far, or how often it was sent back
    note: str = ""  # why it came back, or what a reviewer wants changed
    priority: int = 0
    run_id: str = ""  # that works on it now


@dataclass(frozen=True, slots=True)
class Lane:
    """A column of the board."""

    key: str
    title: str
    cards: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """All tasks, or all stories of the plan, by stage."""

    kind: CardKind
    title: str
    lanes: tuple[Lane, ...]
    problem: str = ""  # why it may not show everything

    @property
    def cards(self) -> tuple[Card, ...]:
        return tuple(card for lane in self.lanes for card in lane.cards)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCriteria:
    """What a role must show before the task goes on."""

    role: str
    method: str = ""
    promise: str = ""
    description: str = ""
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """A verification, or a change of stage."""

    at: float
    role: str = ""
    iteration: int = 0
    what: str = ""  # the method, or the change
    verdict: str = ""  # empty: not a verification
    reason: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDetail:
    """Everything about one card."""

    card: Card
    description: str = ""
    criteria: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    completion: tuple[StageCriteria, ...] = ()
    history: tuple[HistoryEntry, ...] = ()


def laned(kind: CardKind, title: str, lanes: Iterable[tuple[str, str]], cards: Iterable[Card]) -> Board:
    """Cards in their lanes, the lanes in the given order; a lane nobody named comes last."""
    by_lane: dict[str, list[Card]] = {}
    for card in cards:
        by_lane.setdefault(card.lane, []).append(card)
    named = [Lane(key, name, tuple(by_lane.pop(key, ()))) for key, name in lanes]
    return Board(kind, title, (*named, *(Lane(key, key, tuple(rest)) for key, rest in by_lane.items())))
