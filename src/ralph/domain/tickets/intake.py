"""What a look at a source means for the tasks: which are new, which have changed, which nobody wants any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from hashlib import sha256

from ralph.domain.tasks.circles import find_circles
from ralph.domain.tasks.dependencies import spell_circle
from ralph.domain.tasks.entry import LONGEST
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.gate import missing_parts, why_held, why_unsure, why_unwanted
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.task_text import fingerprint, task_of
from ralph.domain.tickets.ticket import Ticket
from ralph.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Arrival:
    """A ticket, what is to be remembered of it, and the tasks that it waits for."""

    ticket: Ticket
    known: KnownTicket
    dependencies: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        """Made each time: of thousands not all need to be in memory at once."""
        task = task_of(self.ticket, self.known.source, dependencies=self.dependencies)
        return replace(task, id=self.known.task_id)


@dataclass(frozen=True, slots=True)
class Unready:
    """A ticket that is not begun. ``is_askable``: something is missing that whoever wrote it can add. ``known``: what is to be
    remembered of one whose task is there."""

    ticket: Ticket
    reason: str
    is_askable: bool = False
    known: KnownTicket | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A ticket that was taken in, and is not wanted any more. ``is_settled``: a person closed or deleted it, so whatever
    waits for it need not wait any longer."""

    known: KnownTicket
    reason: str
    is_settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """``changed``: nobody has begun to work on them; ``edited``: somebody has. ``restored``: wanted again. ``held``: known, not
    begun, and not ready any more. ``unchanged``: how many are as they were. Every open ticket is in one of them."""

    new: tuple[Arrival, ...] = ()
    changed: tuple[Arrival, ...] = ()
    edited: tuple[Arrival, ...] = ()
    restored: tuple[Arrival, ...] = ()
    held: tuple[Unready, ...] = ()
    unready: tuple[Unready, ...] = ()
    gone: tuple[Gone, ...] = ()
    unchanged: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.changed or self.edited or self.restored or self.held or self.gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is known when a source was looked at. ``blockers``: tickets that were named as blockers and asked about, by key;
    None: there is none. ``gone``: tickets that were taken in and are not listed any more, as they are now. ``statuses``: of
    all tasks here, by the id in lower case."""

    source: str
    labels: tuple[str, ...]  # empty: the source needs none
    holder: str
    is_shared: bool
    tickets: Sequence[Ticket]
    known: Mapping[str, KnownTicket]
    statuses: Mapping[str, TaskStatus]
    begun: frozenset[str] = frozenset()  # ids of tasks that somebody has begun
    blockers: Mapping[str, Ticket | None] = field(default_factory=dict)
    gone: Mapping[str, Ticket | None] = field(default_factory=dict)


def plan_intake(sight: Sight) -> Intake:
    """Pure: what to do, and why not."""
    by_key = {ticket.key: ticket for ticket in sight.tickets}
    reasons = {
        key: unready for key, ticket in by_key.items() if (unready := _judge(ticket, sight)) is not None
    }
    _refuse_namesakes(by_key, sight, reasons)
    _refuse_circles(by_key, reasons)
    _refuse_waiting(by_key, sight, reasons)
    ready = [ticket for ticket in by_key.values() if ticket.key not in reasons]
    arrivals = [_arrive(ticket, sight, by_key) for ticket in ready]
    known = [one for one in arrivals if one.ticket.key in sight.known]
    restored = [one for one in known if _is_back(sight.known[one.ticket.key], sight)]
    back = {one.ticket.key for one in restored}
    moved = [one for one in known if one.ticket.key not in back and not _is_same(one, sight)]
    begun = sight.begun
    return Intake(
        restored=tuple(restored),
        held=tuple(_hold_back(by_key, sight, reasons)),
        new=tuple(one for one in arrivals if one.ticket.key not in sight.known),
        changed=tuple(one for one in moved if one.known.task_id not in begun),
        edited=tuple(one for one in moved if one.known.task_id in begun),
        unready=(
            *(unready for key, unready in reasons.items() if key not in sight.known),
            *(
                _open_again(one.ticket, sight)
                for one in known
                if one.ticket.key not in back and _is_open_again(one.ticket, sight)
            ),
        ),
        gone=tuple(_find_gone(by_key, sight)),
        unchanged=len(known) - len(moved) - len(restored),
    )


def named_blockers(
    tickets: Sequence[Ticket], known: Mapping[str, KnownTicket], cancelled: Collection[str]
) -> tuple[str, ...]:
    """Those that were neither listed nor taken in: the source must be asked about them. ``cancelled``: ids of tasks that
    are, which will never be done; their tickets may be."""
    listed = {ticket.key for ticket in tickets}
    coming = {key for key, one in known.items() if one.task_id not in cancelled}
    named = (key for ticket in tickets for key in ticket.blockers)
    return tuple(dict.fromkeys(key for key in named if key not in listed and key not in coming))


def unlisted(
    tickets: Sequence[Ticket],
    known: Mapping[str, KnownTicket],
    over: Collection[str],
    labels: Sequence[str],
) -> tuple[str, ...]:
    """Tickets that were taken in and are not listed any more. ``over``: ids of tasks that are; ``labels``: what was listed.
    Those that came with another label were not to be."""
    listed = {ticket.key for ticket in tickets}
    return tuple(
        key
        for key, one in known.items()
        if key not in listed and one.task_id not in over and one.labels in ((), tuple(labels))
    )


def in_order(arrivals: Sequence[Arrival]) -> Iterator[Arrival]:
    """Each after those of them that it waits for."""
    by_task = {one.known.task_id: one for one in arrivals}
    needs = {name: [need for need in one.dependencies if need in by_task] for name, one in by_task.items()}
    return (by_task[name] for name in TopologicalSorter(needs).static_order())


def remember(before: KnownTicket, ticket: Ticket, needs: tuple[str, ...]) -> KnownTicket:
    """As it is when its task has the words of ``ticket``, and waits for these tasks."""
    words = fingerprint(ticket)
    return replace(
        before,
        shown=ticket.shown,
        url=ticket.url,
        needs=needs,
        seen=words,
        noted="",
        note="",
        waits="",
        is_withdrawn=False,
    )


# --- who stays out ---


def _judge(ticket: Ticket, sight: Sight) -> Unready | None:
    if sight.is_shared and (why := _gate(ticket, sight)):
        return Unready(ticket, why)
    if not ticket.is_open:
        return Unready(ticket, "it is closed")
    if missing := missing_parts(ticket):
        return Unready(ticket, "; ".join(missing), is_askable=True)
    if ticket.task_id.lower() in sight.statuses and ticket.key not in sight.known:
        names = {one.task_id.lower(): one.shown for one in sight.known.values()}
        if other := names.get(ticket.task_id.lower()):
            return Unready(ticket, _spell_namesake(ticket, other))
        if _free_id(ticket, sight).lower() in sight.statuses:
            return Unready(ticket, f"there is a task {ticket.task_id} already, which is not from this source")
    return None


def _gate(ticket: Ticket, sight: Sight) -> str:
    unwanted = why_unwanted(ticket, labels=sight.labels)
    return unwanted or why_unsure(ticket) or why_held(ticket, holder=sight.holder, labels=sight.labels)


def _spell_namesake(ticket: Ticket, other: str) -> str:
    return f"its task would be called {ticket.task_id}, like that of {other}"


def _refuse_namesakes(by_key: Mapping[str, Ticket], sight: Sight, reasons: dict[str, Unready]) -> None:
    """Of two new tickets whose tasks would have one id, the first comes: both would keep out all the others."""
    first: dict[str, Ticket] = {}
    for key, ticket in by_key.items():
        if key in reasons or key in sight.known:
            continue
        if (other := first.setdefault(ticket.task_id.lower(), ticket)) is not ticket:
            reasons[key] = Unready(ticket, _spell_namesake(ticket, other.shown))


def _refuse_circles(by_key: Mapping[str, Ticket], reasons: dict[str, Unready]) -> None:
    needs = {key: [one for one in ticket.blockers if one in by_key] for key, ticket in by_key.items()}
    for circle in find_circles(needs):
        told = spell_circle([by_key[key].shown for key in (*circle, circle[0])])
        why = f"these tickets wait for each other: {told}" if len(circle) > 1 else "it waits for itself"
        for key in circle:
            reasons.setdefault(key, Unready(by_key[key], why))


def _refuse_waiting(by_key: Mapping[str, Ticket], sight: Sight, reasons: dict[str, Unready]) -> None:
    """Whatever waits for something that is no task here would never begin, and so would whatever waits for that."""
    dependents: dict[str, list[Ticket]] = {}
    for ticket in by_key.values():
        for key in ticket.blockers:
            if key not in sight.known:
                dependents.setdefault(key, []).append(ticket)
    outside = [key for key in dependents if key not in by_key and not _is_settled(key, sight)]
    waiting = [*reasons, *outside]
    while waiting:
        key = waiting.pop()
        for ticket in dependents.get(key, ()):
            if ticket.key not in reasons:
                reasons[ticket.key] = Unready(ticket, f"it waits for {_spell(key, by_key, sight)}")
                waiting.append(ticket.key)


def _is_settled(key: str, sight: Sight) -> bool:
    """The source was asked: it is closed, or there is none. One that nobody asked about may be open."""
    found = sight.blockers.get(key)
    return key in sight.blockers and (found is None or not found.is_open)


def _spell(key: str, by_key: Mapping[str, Ticket], sight: Sight) -> str:
    if key in by_key:
        return f"{by_key[key].shown}, which is not ready"
    blocker = sight.blockers.get(key)
    if blocker is None:
        return f"{key}, of which nothing is known yet"
    return f"{blocker.shown}, which is not among the tickets here"


# --- who comes, and who goes ---


def _arrive(ticket: Ticket, sight: Sight, by_key: Mapping[str, Ticket]) -> Arrival:
    fresh = KnownTicket(
        source=sight.source,
        key=ticket.key,
        task_id=_free_id(ticket, sight),
        uid=ticket.uid,
        is_shared=sight.is_shared,
        labels=sight.labels,
    )
    before = sight.known.get(ticket.key, fresh)
    needs = [
        sight.known[key].task_id if key in sight.known else _free_id(by_key[key], sight)
        for key in ticket.blockers
        if (key in sight.known or key in by_key) and not _is_settled(key, sight)
    ]
    there = tuple(need for need in dict.fromkeys(needs) if need.lower() != before.task_id.lower())
    return Arrival(ticket, remember(before, ticket, there), there)


def _free_id(ticket: Ticket, sight: Sight) -> str:
    """Two repositories may have one name, and two files: the second gets a mark of its source."""
    if ticket.task_id.lower() not in sight.statuses:
        return ticket.task_id
    mark = sha256(sight.source.encode()).hexdigest()[:4]
    return f"{ticket.task_id[: LONGEST - len(mark) - 1]}-{mark}"


def _is_same(arrival: Arrival, sight: Sight) -> bool:
    """As its task has it; or, if somebody works on that, as they were told last."""
    known = sight.known[arrival.ticket.key]
    if _is_over(known, sight):
        return True
    if known.waits:
        return False
    if known.task_id in sight.begun:
        return arrival.known.seen == (known.noted or known.seen)
    return arrival.known.seen == known.seen and _needs_the_same(arrival.dependencies, known.needs, sight)


def _needs_the_same(now: Sequence[str], before: Sequence[str], sight: Sight) -> bool:
    """What is done need not be waited for, and whether its ticket still says so is no change."""
    moved = set(now) ^ set(before)
    return all(sight.statuses.get(name.lower()) is TaskStatus.DONE for name in moved)


def _is_back(known: KnownTicket, sight: Sight) -> bool:
    """What a look cancelled, a look may restore; what a person cancelled stays so."""
    return known.is_withdrawn and sight.statuses.get(known.task_id.lower()) is TaskStatus.CANCELLED


def _is_open_again(ticket: Ticket, sight: Sight) -> bool:
    """It is open although its task is over, and not because nobody has told it yet."""
    known = sight.known[ticket.key]
    status = sight.statuses.get(known.task_id.lower())
    return status in (TaskStatus.DONE, TaskStatus.CANCELLED) and known.settled == status


def _open_again(ticket: Ticket, sight: Sight) -> Unready:
    task = sight.known[ticket.key].task_id
    if sight.statuses.get(task.lower()) is TaskStatus.CANCELLED:
        return Unready(ticket, f"its task was cancelled: `ralph task retry {task}` tries it again")
    what = f"`ralph task followup {task}` adds what is left, or give it another id"
    return Unready(ticket, f"its task {task} is done: {what}")


def _hold_back(
    by_key: Mapping[str, Ticket], sight: Sight, reasons: Mapping[str, Unready]
) -> Iterator[Unready]:
    """Known ones that nobody has begun, and that are not to be begun as they are now."""
    for key, unready in reasons.items():
        known, ticket = sight.known.get(key), by_key[key]
        if known is None or known.waits == unready.reason or known.task_id in sight.begun:
            continue
        is_open = sight.statuses.get(known.task_id.lower()) is TaskStatus.OPEN and ticket.is_open
        if is_open and not (sight.is_shared and _gate(ticket, sight)):
            yield replace(unready, known=replace(known, waits=unready.reason))


def _is_over(known: KnownTicket, sight: Sight) -> bool:
    status = sight.statuses.get(known.task_id.lower())
    return status in (None, TaskStatus.DONE, TaskStatus.CANCELLED, TaskStatus.ACCEPTED)


def _find_gone(by_key: Mapping[str, Ticket], sight: Sight) -> Iterator[Gone]:
    """Those that are listed may have lost what made them ours, too."""
    listed = {key: ticket for key, ticket in by_key.items() if key in sight.known}
    for key, ticket in (*listed.items(), *sight.gone.items()):
        known = sight.known[key]
        if sight.statuses.get(known.task_id.lower()) is not TaskStatus.OPEN:
            continue  # nothing is left to be cancelled
        if ticket is None:
            yield Gone(known, f"its ticket {known.shown} is not there any more", is_settled=True)
        elif sight.is_shared and (why := why_unwanted(ticket, labels=known.labels or sight.labels)):
            told = f"its ticket {known.shown} is not wanted any more: {why}"
            yield Gone(known, told, is_settled=not ticket.is_open)
        elif not ticket.is_open:
            yield Gone(known, f"its ticket {known.shown} is closed", is_settled=True)
