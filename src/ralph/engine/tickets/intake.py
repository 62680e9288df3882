"""A look at a source: its tickets are read and compared with what is known, and the tasks follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.batch import is_batch, parts_of
from ralph.domain.tickets.gate import missing_parts
from ralph.domain.tickets.intake import (
    Arrival,
    Intake,
    Sight,
    in_order,
    named_blockers,
    plan_intake,
    remember,
    unlisted,
)
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.task_text import fingerprint, note_of
from ralph.domain.tickets.ticket import Ticket
from ralph.engine.tickets.ports import Source, Standing, TicketLedger, TicketMemory, Wanted
from ralph.errors import UsageError
from ralph.values import dataclass, field, replace

MOST_ASKED = 100
"""Tickets that are asked about one by one in a look: what is beyond that is left for the next."""
AT_ONCE = 200
"""Tasks that are written in one transaction: what they hold is in memory then."""


@dataclass(slots=True, kw_only=True)
class TicketIntake:
    """``labels``: what tickets of a shared source must have. ``arrange``: puts small ones together, if the user wants that.
    ``is_patient``: one that is not there is gone only if it is not there at the next look, either."""

    source: Source
    memory: TicketLedger
    labels: tuple[str, ...]
    holder: str
    limit: int | None = None
    arrange: Callable[[Sequence[Ticket]], Sequence[Ticket]] = tuple
    is_patient: bool = False
    _absent: set[str] = field(default_factory=set, init=False)  # at the last look
    _asked: dict[str, int] = field(
        default_factory=dict, init=False
    )  # the look at which each was asked about last
    _looks: int = field(default=0, init=False)

    async def look(self) -> Intake:
        """What would come. Writes nothing."""
        source, memory = self.source, self.memory
        labels = self.labels if source.is_shared else ()
        known, standings = memory.of_source(source.name), memory.standings()
        tickets = await self._list(labels, known)
        statuses = {one.task_id: _status(standings, one.task_id) for one in known.values()}
        over = {name for name, status in statuses.items() if status is not TaskStatus.OPEN}
        cancelled = {name for name, status in statuses.items() if status is TaskStatus.CANCELLED}
        # A part of the list does not say that the rest is gone.
        missed = unlisted(tickets, known, over, labels) if self.limit is None else ()
        gone = self._be_patient(await self._read(missed), missed)
        together = [one for one in gone.values() if one is not None and is_batch(one.key)]
        tickets = [*tickets, *(_wait_for(one, _batches(known)) for one in together)]
        moved = {one.key: key for key, one in gone.items() if one is not None and one.uid and one.key != key}
        tickets = [_wait_for(one, moved) for one in tickets]
        return plan_intake(
            Sight(
                source=source.name,
                labels=labels,
                holder=self.holder,
                is_shared=source.is_shared,
                tickets=tickets,
                known=known,
                statuses={name: standing.status for name, standing in standings.items()},
                begun=frozenset(one.task_id for one in known.values() if _is_begun(standings, one.task_id)),
                blockers=await self._read(named_blockers(tickets, known, cancelled)),
                gone={key: ticket for key, ticket in gone.items() if not is_batch(key) or ticket is None},
            )
        )

    def _be_patient(self, found: dict[str, Ticket | None], missed: Sequence[str]) -> dict[str, Ticket | None]:
        """An editor that saves, or another branch for a moment, is no word of anybody's."""
        absent = {key for key, ticket in found.items() if ticket is None}
        before = self._absent
        # Not all that are missed are asked about in every look; one that is listed again is there.
        self._absent = absent | (before & (set(missed) - found.keys()))
        too_soon = absent - before if self.is_patient else set()
        return {key: ticket for key, ticket in found.items() if key not in too_soon}

    async def _list(self, labels: tuple[str, ...], known: Mapping[str, KnownTicket]) -> Sequence[Ticket]:
        """So many that are new as the limit says. What was put together once stays together."""
        most = None if self.limit is None else self.limit + len(known)
        batches = _batches(known)
        keys = {one.uid: key for key, one in known.items() if one.uid}
        found: list[Ticket] = []
        renamed: dict[str, str] = {}  # what each is called now, which others may wait for
        new = 0
        async for listed in self.source.tickets(Wanted(labels=labels, limit=most)):
            ticket = replace(listed, key=keys[listed.uid]) if listed.uid in keys else listed
            if ticket.key != listed.key:
                renamed[listed.key] = ticket.key
            if ticket.key in batches:
                continue
            found.append(_wait_for(ticket, batches))
            new += ticket.key not in known
            if new == self.limit:
                break
        return self.arrange([_wait_for(ticket, renamed) for ticket in found])

    async def _read(self, keys: Sequence[str]) -> dict[str, Ticket | None]:
        """Those first that were not asked about for longest: sooner or later each is."""
        self._looks += 1
        found: dict[str, Ticket | None] = {}
        for key in sorted(keys, key=lambda key: self._asked.get(key, 0))[:MOST_ASKED]:
            found[key] = await self.source.read(key)
            self._asked[key] = self._looks
        return found


def take_in(memory: TicketMemory, intake: Intake) -> None:
    """New tickets become tasks, changed ones change theirs, and whoever works on an edited one is told.

    Raises UsageError if a task cannot change, when all the others have.
    """
    arrivals = in_order(intake.new)
    while some := list(islice(arrivals, AT_ONCE)):
        memory.add([one.task for one in some], [one.known for one in some])
    late, problems = [], []
    for one in in_order(intake.changed):  # else two that change places would wait for each other in between
        try:
            before = memory.of_task(one.known.task_id) or one.known  # it may have been taken meanwhile
            late += [] if memory.redefine(one.task, remember(before, one.ticket, one.dependencies)) else [one]
        except UsageError as error:  # others have nothing to do with it
            problems.append(error)
    for one in (*intake.edited, *late):
        before = memory.of_task(one.known.task_id) or one.known
        memory.tell(replace(before, noted=one.known.seen, note=note_of(one.ticket), waits=""))
    for one in intake.restored:
        memory.restore(one.known)
    standings = memory.standings() if intake.held else {}
    for held in intake.held:
        now = None if held.known is None else memory.of_task(held.known.task_id)  # or it was begun meanwhile
        if now is not None and not _is_begun(standings, now.task_id):
            memory.save(
                replace(now, waits=held.reason), note=f"{held.ticket.shown} is not begun: {held.reason}"
            )
    for gone in intake.gone:
        memory.withdraw(gone.known, gone.reason, is_settled=gone.is_settled)
    for problem in problems:
        raise problem


async def refresh(memory: TicketMemory, source: Source, known: KnownTicket) -> str:
    """A task is begun with the words that its ticket has now. Gives why it is not begun after all; empty: nothing."""
    ticket = await source.read(known.key)
    if ticket is None:
        return f"its ticket {known.shown} is not there now"
    if not ticket.is_open:
        reason = f"its ticket {known.shown} is closed"
        memory.withdraw(known, reason, is_settled=True)
        return reason
    now = memory.of_task(known.task_id) or known
    if fingerprint(ticket) in (now.seen, now.noted):
        return ""
    if missing := missing_parts(ticket):
        return f"its ticket {known.shown} was edited, and {'; '.join(missing)}"
    arrival = Arrival(ticket, remember(now, ticket, now.needs), now.needs)
    if not memory.redefine(arrival.task, arrival.known):
        memory.tell(replace(now, noted=arrival.known.seen, note=note_of(ticket)))
    return ""


def _batches(known: Mapping[str, KnownTicket]) -> dict[str, str]:
    """The batch that each ticket was put into, if it was."""
    return {part: key for key in known if is_batch(key) for part in parts_of(key)}


def _wait_for(ticket: Ticket, names: Mapping[str, str]) -> Ticket:
    """Under the names by which its blockers are known here, if they are others."""
    if not names:
        return ticket
    blockers = dict.fromkeys(names.get(key, key) for key in ticket.blockers)
    return replace(ticket, blockers=tuple(key for key in blockers if key != ticket.key))


def _status(standings: Mapping[str, Standing], task_id: str) -> TaskStatus | None:
    found = standings.get(task_id.lower())
    return None if found is None else found.status


def _is_begun(standings: Mapping[str, Standing], task_id: str) -> bool:
    found = standings.get(task_id.lower())
    return found is not None and (found.is_begun or found.status is not TaskStatus.OPEN)
