"""Several projects as one: what waits for a person, what all of it costs, and one board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.text.figures import plural
from ralph.domain.views.board import Board, Card, CardKind, Lane
from ralph.domain.views.decisions import Tone
from ralph.domain.views.pull_request import OPEN, PullRequestView
from ralph.domain.views.runs import RunState, RunView, is_child, reason_of
from ralph.domain.views.tasks import TaskState
from ralph.values import dataclass, field, replace

MOST_CARDS = 100
"""In one lane of the board of all projects; what is done fills it soonest, and matters least."""
WORK = "verified"
"""The profile of `ralph work`, which counts what its tasks cost as its own."""

_STOPPED = {
    RunState.FAILED: Tone.BAD,
    RunState.INTERRUPTED: Tone.BAD,
    RunState.EXHAUSTED: Tone.WARNING,
    RunState.WAITING: Tone.WARNING,
}
"""Nothing more happens in a run that ended so, unless a person does something."""
_TITLES = {CardKind.TASK: "Tasks", CardKind.STORY: "Stories"}


# --- what was read of each project ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLook:
    """One project as it was read. ``key`` is for addresses, ``name`` for people.

    ``problem``: why nothing could be read. ``is_cut``: there are more runs, which were not read. ``titles``: what runs
    were asked to do, by their ids, as far as that is shown.
    """

    key: str
    name: str
    place: str = ""
    runs: Sequence[RunView] = ()
    boards: Sequence[Board] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    hint: str = ""
    is_cut: bool = False


def distinguish(places: Sequence[str]) -> list[str]:
    """A name for each folder: the last part of its path, and as much before it as tells it from the others."""
    parts = [[part for part in place.split("/") if part] for place in places]
    lengths = [1] * len(places)
    while True:
        names = ["/".join(each[-length:]) or "/" for each, length in zip(parts, lengths, strict=True)]
        shared = {name for name in names if names.count(name) > 1}
        longer = [
            length + 1 if name in shared and length < len(each) else length
            for name, each, length in zip(names, parts, lengths, strict=True)
        ]
        if longer == lengths:
            return names
        lengths = longer


# --- what waits for a person ---


class WaitKind(StrEnum):
    PROJECT = "project"  #: it cannot be read
    RUN = "run"
    PULL_REQUEST = "pull_request"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Something that no run continues by itself. ``run_id``, ``task``: where to look; either may be empty."""

    project: str
    kind: WaitKind
    title: str
    words: str
    reason: str = ""
    tone: Tone = Tone.WARNING
    at: float = 0.0
    run_id: str = ""
    task: str = ""


def runs_for_person(runs: Sequence[RunView]) -> list[RunView]:
    """Those that are paused, have stopped short of their end, or have a pull request that asks for a person.

    A run that ended is history once another began in its place; a part is told by its task, or by its whole.
    """
    return [run for run in runs if _asks_for_person(run) or _is_paused(run, runs) or _is_stopped(run, runs)]


def _asks_for_person(run: RunView) -> bool:
    return run.live and run.pull_request is not None and needs_person(run.pull_request)


def needs_person(pull: PullRequestView) -> bool:
    return pull.state == OPEN and (pull.step == "ask" or (pull.is_waiting and pull.for_people))


def _is_paused(run: RunView, runs: Sequence[RunView]) -> bool:
    return run.live and run.state is RunState.PAUSED and not is_child(run, [one for one in runs if one.live])


def _is_stopped(run: RunView, runs: Sequence[RunView]) -> bool:
    if run.live or run.state not in _STOPPED or is_child(run, runs):
        return False
    later = (one for one in runs if one.root == run.root and not is_child(one, runs))
    return all(one.started_at <= run.started_at for one in later)


def _waits_of(look: ProjectLook) -> list[Wait]:
    if look.problem:
        return [
            Wait(
                project=look.key,
                kind=WaitKind.PROJECT,
                title=look.name,
                words="cannot be read",
                reason=f"{look.problem}. {look.hint[:1].upper()}{look.hint[1:]}"
                if look.hint
                else look.problem,
                tone=Tone.BAD,
            )
        ]
    runs = [_wait_of_run(look, run) for run in runs_for_person(look.runs)]
    return [*runs, *_waits_of_tasks(look)]


def _wait_of_run(look: ProjectLook, run: RunView) -> Wait:
    pull, title = run.pull_request, look.titles.get(run.id) or f"{run.task} {run.title}".strip() or run.id
    if pull is not None and needs_person(pull):
        return Wait(
            project=look.key,
            kind=WaitKind.PULL_REQUEST,
            title=title,
            words=f"pull request {pull.name} {pull.wording.words}",
            reason=pull.reason,
            tone=pull.wording.tone,
            at=run.active_at,
            run_id=run.id,
        )
    return Wait(
        project=look.key,
        kind=WaitKind.RUN,
        title=title,
        words=run.state.words,
        reason=reason_of(run),
        tone=_STOPPED.get(run.state, Tone.WARNING),
        at=run.ended_at or run.active_at,
        run_id=run.id,
    )


def _waits_of_tasks(look: ProjectLook) -> list[Wait]:
    """Those that failed; and those that are accepted but not merged, if nothing here will do that."""
    wanted = {TaskStatus.FAILED: ("failed", Tone.BAD)}
    if not _has_work(look.runs):
        wanted[TaskStatus.ACCEPTED] = ("accepted, not merged yet", Tone.WARNING)
    return [
        Wait(
            project=look.key,
            kind=WaitKind.TASK,
            title=f"{card.id} {card.title}",
            words=wanted[TaskStatus(card.lane)][0],
            reason=card.note,
            tone=wanted[TaskStatus(card.lane)][1],
            task=card.id,
        )
        for card in _task_cards(look.boards)
        if card.lane in wanted
    ]


# --- what can be started ---


def ready_tasks(runs: Iterable[RunView], boards: Iterable[Board]) -> int:
    """How many tasks `ralph work` would begin with now; none while one is at it already."""
    startable = (TaskState.READY, TaskState.ACCEPTED)
    return 0 if _has_work(runs) else sum(card.status in startable for card in _task_cards(boards))


def _has_work(runs: Iterable[RunView]) -> bool:
    return any(run.live and run.profile == WORK for run in runs)


def _task_cards(boards: Iterable[Board]) -> list[Card]:
    return [card for board in boards if board.kind is CardKind.TASK for card in board.cards]


# --- what it costs ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """``cost_usd`` None: no agent named a price. ``is_partial``: it cost at least this."""

    cost_usd: float | None = None
    is_partial: bool = False
    tokens: int = 0
    runs: int = 0
    live: int = 0

    def __add__(self, other: Totals) -> Totals:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Totals(
            cost_usd=sum(costs) if costs else None,
            is_partial=self.is_partial or other.is_partial,
            tokens=self.tokens + other.tokens,
            runs=self.runs + other.runs,
            live=self.live + other.live,
        )


def total_of(runs: Sequence[RunView], *, is_cut: bool = False) -> Totals:
    """Each run once: a `ralph work` has counted its tasks, unless it was killed before it could."""
    by_id = {run.id: run for run in runs}
    parts: dict[str, Totals] = {}
    total = Totals(is_partial=is_cut)
    for run in runs:
        parent = by_id.get(run.parent_id)
        if parent is not None and parent.profile == WORK:
            parts[parent.id] = parts.get(parent.id, Totals()) + _own(run)
    for run in runs:
        parent = by_id.get(run.parent_id)
        if parent is None or parent.profile != WORK:
            total += _larger(_own(run), parts.get(run.id, Totals()))
    return total


def _own(run: RunView) -> Totals:
    return Totals(
        cost_usd=run.cost_usd,
        is_partial=run.cost_is_partial,
        tokens=run.tokens,
        runs=1,
        live=int(run.live),
    )


def _larger(whole: Totals, parts: Totals) -> Totals:
    costs = [cost for cost in (whole.cost_usd, parts.cost_usd) if cost is not None]
    return replace(
        whole,
        cost_usd=max(costs, default=None),
        is_partial=whole.is_partial or parts.is_partial,
        tokens=max(whole.tokens, parts.tokens),
    )


# --- all of them ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """One line of the list of projects."""

    look: ProjectLook
    totals: Totals
    waiting: int
    ready: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRun:
    """A run under way, and whose."""

    project: str
    run: RunView
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """``waiting``: the newest first, after projects that cannot be read. ``live``: without the parts of live runs."""

    projects: tuple[ProjectSummary, ...] = ()
    waiting: tuple[Wait, ...] = ()
    live: tuple[ProjectRun, ...] = ()
    boards: tuple[Board, ...] = ()
    totals: Totals = Totals()


def live_wholes(runs: Iterable[RunView]) -> list[RunView]:
    """Runs under way that are not part of another one under way."""
    live = [run for run in runs if run.live]
    return [run for run in live if not is_child(run, live)]


def fold_projects(looks: Sequence[ProjectLook]) -> Overview:
    waits = {look.key: _waits_of(look) for look in looks}
    projects = tuple(
        ProjectSummary(
            look=look,
            totals=total_of(look.runs, is_cut=look.is_cut),
            waiting=len(waits[look.key]),
            ready=ready_tasks(look.runs, look.boards),
        )
        for look in looks
    )
    every = [wait for each in waits.values() for wait in each]
    every.sort(key=lambda wait: (wait.kind is not WaitKind.PROJECT, -wait.at))
    live = [
        ProjectRun(project=look.key, run=run, title=look.titles.get(run.id) or run.title)
        for look in looks
        for run in live_wholes(look.runs)
    ]
    live.sort(key=lambda each: each.run.started_at, reverse=True)
    return Overview(
        projects=projects,
        waiting=tuple(every),
        live=tuple(live),
        boards=merge_boards(looks),
        totals=sum((each.totals for each in projects), Totals()),
    )


# --- one board ---


def merge_boards(looks: Sequence[ProjectLook]) -> tuple[Board, ...]:
    """One of all tasks, one of all stories; every card says whose it is."""
    return tuple(
        _merge(kind, found)
        for kind in CardKind
        if (found := [(look, board) for look in looks for board in look.boards if board.kind is kind])
    )


def _merge(kind: CardKind, boards: Sequence[tuple[ProjectLook, Board]]) -> Board:
    lanes: list[tuple[str, str]] = []
    cards: dict[str, list[Card]] = {}
    for look, board in boards:
        _add_lanes(lanes, board.lanes)
        for lane in board.lanes:
            cards.setdefault(lane.key, []).extend(replace(card, project=look.key) for card in lane.cards)
    for each in cards.values():
        each.sort(key=lambda card: card.priority)
    hidden = sum(max(0, len(each) - MOST_CARDS) for each in cards.values())
    problems = [f"{look.name}: {board.problem}" for look, board in boards if board.problem]
    if hidden:
        problems.append(f"{plural(hidden, 'more card')} not shown")
    merged = tuple(Lane(key, title, tuple(cards[key][:MOST_CARDS])) for key, title in lanes)
    return Board(kind, _TITLES[kind], merged, "; ".join(problems))


def _add_lanes(known: list[tuple[str, str]], lanes: Sequence[Lane]) -> None:
    """A lane that is new here comes after the one that it followed in its own project."""
    place = 0
    for lane in lanes:
        keys = [key for key, _ in known]
        if lane.key in keys:
            place = keys.index(lane.key) + 1
        else:
            known.insert(place, (lane.key, lane.title))
            place += 1
