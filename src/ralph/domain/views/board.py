"""The board: tasks, or the stories of a plan, as cards in lanes; also which lanes there are, and their titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

from ralph.domain.plan.story import Review
from ralph.domain.tasks.criteria import criteria_for, proof_words
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.domain.tasks.task import Task, TaskAsk, TaskStatus, possible_asks
from ralph.domain.text.masking import mask_text
from ralph.domain.views.tasks import TaskView
from ralph.values import dataclass, replace


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
    proof: str = ""  # what must pass before it continues
    run_id: str = ""  # the run that works on it now
    asks: tuple[TaskAsk, ...] = ()  # what may be asked of it now
    project: str = ""  # the key of its project, on the board of several


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
    problem: str = ""  # why something may be missing

    @property
    def cards(self) -> tuple[Card, ...]:
        return tuple(card for lane in self.lanes for card in lane.cards)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCriteria:
    """What a role must prove before the task continues."""

    role: str
    method: str = ""
    proof: str = ""  # what must pass: the command, the judge's criteria, or several checks
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
    times: int = 1  # in a row

    def repeats(self, other: HistoryEntry) -> bool:
        """Whether it says the same; iterations and times differ."""
        return replace(self, at=other.at, iteration=other.iteration, times=other.times) == other


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDetail:
    """Everything about one card."""

    card: Card
    description: str = ""
    criteria: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    completion: tuple[StageCriteria, ...] = ()
    history: tuple[HistoryEntry, ...] = ()


# --- lanes ---

Lanes = Sequence[tuple[str, str]]
"""Key and title of each, in their order."""

ENDS: Lanes = (
    (TaskStatus.ACCEPTED, "Accepted"),
    (TaskStatus.DONE, "Done"),
    (TaskStatus.FAILED, "Failed"),
    (TaskStatus.CANCELLED, "Cancelled"),
)
STORY_LANES: Lanes = (
    ("todo", "To do"),
    (Review.NEEDED, "Needs review"),
    (Review.CHANGES, "Changes requested"),
    (Review.APPROVED, "Approved"),
)


def task_lanes(roles: CompletionDefaults) -> Lanes:
    """One for each role, then one for each way to end."""
    return (*((role, roles.title(role)) for role in roles.roles), *ENDS)


@lru_cache(maxsize=20_000)  # a board is read again and again
def _mask(text: str) -> str:
    return mask_text(text)


def put_in_lanes(kind: CardKind, title: str, lanes: Lanes, cards: Iterable[Card], problem: str = "") -> Board:
    """Unknown lanes come last."""
    by_lane: dict[str, list[Card]] = {}
    for card in cards:
        by_lane.setdefault(card.lane, []).append(card)
    named = [Lane(str(key), name, tuple(by_lane.pop(key, ()))) for key, name in lanes]
    others = (Lane(key, key, tuple(rest)) for key, rest in by_lane.items())
    return Board(kind, title, (*named, *others), problem)


# --- tasks ---


def task_board(views: Iterable[TaskView], roles: CompletionDefaults, *, hidden: int = 0) -> Board:
    """``hidden``: how many more there are."""
    cards = sorted((task_card(view, roles) for view in views), key=lambda card: card.priority)
    problem = f"{hidden:,} more are not shown" if hidden > 0 else ""
    return put_in_lanes(CardKind.TASK, "Tasks", task_lanes(roles), cards, problem)


def task_card(view: TaskView, roles: CompletionDefaults) -> Card:
    task = view.task
    role = task.stage or next(iter(roles.roles), "")
    is_open = task.status is TaskStatus.OPEN
    stage = _stage_criteria(task, role, roles) if is_open else StageCriteria(role=role)
    waits = f"waits for {', '.join(view.waits_for)}" if view.waits_for else ""
    return Card(
        kind=CardKind.TASK,
        id=task.id,
        title=_mask(task.title),
        lane=role if is_open else task.status.value,
        status=view.state.value,
        role=role if is_open else "",
        iteration=task.used if is_open else task.iteration,
        maximum=stage.maximum,
        rounds=task.rejections,
        note=task.reason or waits or (task.last_remark if is_open else ""),
        priority=task.priority,
        proof=_mask(stage.proof),
        run_id=view.run_id or "",
        asks=possible_asks(task),
    )


def task_detail(
    view: TaskView, roles: CompletionDefaults, history: tuple[HistoryEntry, ...] = ()
) -> CardDetail:
    """With the criteria of the project's roles and of the task's own ones."""
    task = view.task
    own = task.completion_spec.criteria if task.completion_spec is not None else {}
    return CardDetail(
        card=task_card(view, roles),
        description="\n\n".join(text for text in (task.outcome, task.description) if text),
        criteria=task.acceptance_criteria,
        depends_on=task.dependencies,
        completion=tuple(_stage_criteria(task, role, roles) for role in dict.fromkeys((*roles.roles, *own))),
        history=tuple(_in_groups(history)),
    )


def _in_groups(history: Iterable[HistoryEntry]) -> Iterator[HistoryEntry]:
    """Sentences that follow each other and say the same as one, the first of them."""
    group: HistoryEntry | None = None
    for entry in history:
        if group is not None and entry.repeats(group):
            group = replace(group, times=group.times + 1)
            continue
        if group is not None:
            yield group
        group = entry
    if group is not None:
        yield group


def _stage_criteria(task: Task, role: str, roles: CompletionDefaults) -> StageCriteria:
    """A spec that makes no sense shows only its role."""
    try:
        criteria = criteria_for(task, role, roles)
    except (ValueError, TypeError, KeyError, AttributeError):
        return StageCriteria(role=role)
    return StageCriteria(
        role=role,
        method=str(criteria.verification_method),
        proof=proof_words(criteria),
        promise=criteria.promise,
        description=criteria.description,
        maximum=criteria.max_iterations,
    )


# --- stories: entries of a document that may be invalid, because the agent edits it ---


def story_board(document: Mapping[str, Any], problem: str = "") -> Board:
    title = str(document.get("project") or "Plan")
    proof = _mask(_story_proof(document))
    cards = sorted(
        (story_card(story, proof) for story in stories_in(document)), key=lambda card: card.priority
    )
    return put_in_lanes(CardKind.STORY, title, STORY_LANES, cards, problem)


def stories_in(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    stories = document.get("userStories")
    return [story for story in stories if isinstance(story, Mapping)] if isinstance(stories, list) else []


def story_card(story: Mapping[str, Any], proof: str = "") -> Card:
    review = story.get("reviewStatus")
    passes = story.get("passes") is True
    lane = review if isinstance(review, str) and review else Review.APPROVED.value if passes else "todo"
    return Card(
        kind=CardKind.STORY,
        id=str(story.get("id", "")),
        title=_mask(str(story.get("title", ""))),
        lane=lane,
        status="passes" if passes else "",
        rounds=_whole(story.get("reviewCount")),
        note=str(story.get("reviewFeedback") or ""),
        priority=_whole(story.get("priority")),
        proof="" if passes else proof,
    )


def _story_proof(document: Mapping[str, Any]) -> str:
    """The plan's commands prove each of its stories."""
    commands = _texts(document.get("verifyCommands"))
    return f"command{'s' if len(commands) > 1 else ''}: {' && '.join(commands)}" if commands else ""


def story_detail(story: Mapping[str, Any], document: Mapping[str, Any]) -> CardDetail:
    return CardDetail(
        card=story_card(story, _story_proof(document)),
        description=str(story.get("description") or story.get("notes") or ""),
        criteria=_texts(story.get("acceptanceCriteria")),
        depends_on=_texts(story.get("dependsOn")),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
