"""Puts tickets together that are too small for a session each: all of a heading that have no check of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralph.domain.tickets.checklist_key import print_of, task_id_of
from ralph.domain.tickets.ticket import Ticket
from ralph.domain.tickets.ticket_text import LONGEST_CRITERION, LONGEST_TEXT
from ralph.patterns import pattern
from ralph.values import dataclass, field, replace

MOST_TOGETHER = 20
"""More is too much for a session, and for whoever judges its work."""
PLUS = "+"
PLACE = ":"
MOST_SHOWN = 5
_NOTES = "For all tasks under this heading:"
_CHECK = pattern(r"- ((?:Independent Test|Checkpoint|Acceptance(?: Criteria)?):.*)", re.IGNORECASE)


def batch(tickets: Sequence[Ticket]) -> tuple[Ticket, ...]:
    """In order. No two of the result wait for each other, also where a ticket with its own check stands in between."""
    return tuple(_Batches(tickets).made())


def smallness(tickets: Sequence[Ticket]) -> str:
    """What to warn of; empty: nothing."""
    small = [ticket.shown for ticket in tickets if not ticket.has_own_check]
    if len(small) < 2:
        return ""
    shown = ", ".join(small[:MOST_SHOWN]) + (
        f" and {len(small) - MOST_SHOWN} more" if len(small) > MOST_SHOWN else ""
    )
    return (
        f"{len(small)} of {len(tickets)} tasks have no check of their own ({shown}): each would be a session of its own, with"
        " nothing but its title to judge it by"
    )


# --- keys ---


def parts_of(key: str) -> tuple[str, ...]:
    """``T001+T002`` → both; ``001-photos/tasks.md:T001+T002`` → each with its file. One that is alone: itself."""
    place, colon, names = key.rpartition(PLACE)
    return tuple(f"{place}{colon}{name}" for name in names.split(PLUS))


def is_batch(key: str) -> bool:
    return len(parts_of(key)) > 1


def _join(keys: Sequence[str]) -> str:
    place, colon, first = keys[0].rpartition(PLACE)
    return f"{place}{colon}{PLUS.join((first, *(key.rpartition(PLACE)[2] for key in keys[1:])))}"


# --- what stands under a heading for all ---


def add_notes(text: str, notes: Sequence[str]) -> str:
    """The text of a ticket, with what its heading says."""
    if not notes:
        return text
    return "\n".join((*((text, "") if text else ()), _NOTES, *(f"- {note}" for note in notes)))


def _split_notes(text: str) -> tuple[str, tuple[str, ...]]:
    own, _, notes = text.partition(_NOTES)
    return own.strip(), tuple(notes.strip().splitlines()) if notes else ()


# --- one of several ---


def merge(tickets: Sequence[Ticket]) -> Ticket:
    """One ticket with all of them as criteria. Its blockers are those of any, apart from themselves."""
    if len(tickets) == 1:
        return tickets[0]
    first, last = tickets[0], tickets[-1]
    key = _join([ticket.key for ticket in tickets])
    blockers = dict.fromkeys(one for ticket in tickets for one in ticket.blockers)
    estimates = [ticket.estimate for ticket in tickets if ticket.estimate is not None]
    notes = dict.fromkeys(note for ticket in tickets for note in _split_notes(ticket.text)[1])
    checks = [found[1] for note in notes if (found := _CHECK.match(note))]
    return replace(
        first,
        key=key,
        shown=_shown([ticket.shown for ticket in tickets]),
        task_id=task_id_of(first.task_id, f"to-{last.key.rpartition(PLACE)[2]}-{print_of(key)}"),
        title=first.group or f"{first.spec}: {len(tickets)} tasks",
        text=add_notes("\n".join(_list(tickets)), [note.removeprefix("- ") for note in notes])[:LONGEST_TEXT],
        is_open=any(ticket.is_open for ticket in tickets),
        criteria=(*(_criterion(ticket) for ticket in tickets), *checks),
        has_own_check=True,
        blockers=tuple(one for one in blockers if one not in {ticket.key for ticket in tickets}),
        priority=min(ticket.priority for ticket in tickets),
        estimate=sum(estimates) if estimates else None,
        context=tuple(dict.fromkeys(path for ticket in tickets for path in ticket.context)),
        left_out=tuple(dict.fromkeys(one for ticket in tickets for one in ticket.left_out)),
    )


def _shown(names: Sequence[str]) -> str:
    """``001-photos T001, T002``: what they have in common is said once."""
    place = names[0].rpartition(" ")[0]
    is_common = place and all(name.rpartition(" ")[0] == place for name in names)
    rest = [name.removeprefix(f"{place} ") if is_common else name for name in names[1:]]
    return ", ".join((names[0], *rest)) if len(names) <= 3 else f"{names[0]} … {rest[-1]} ({len(names)})"


def _criterion(ticket: Ticket) -> str:
    return f"{ticket.shown}: {ticket.title}"[:LONGEST_CRITERION]


def _list(tickets: Sequence[Ticket]) -> Iterator[str]:
    for ticket in tickets:
        yield f"- {ticket.shown}: {ticket.title}"
        own = _split_notes(ticket.text)[0]
        yield from (f"  {line}".rstrip() for line in own.splitlines())


# --- which of them ---


@dataclass(slots=True)
class _Node:
    """A ticket of the result while it is made. ``before``: the bits of all nodes that must be finished before it."""

    number: int
    members: list[Ticket]
    needs: set[int] = field(default_factory=set)
    before: int = 0


class _Batches:
    """Joins each ticket to the batch of its heading, unless something that waits for that batch must come before it."""

    def __init__(self, tickets: Sequence[Ticket]) -> None:
        self.nodes: list[_Node] = []
        self.node_of: dict[str, _Node] = {}
        self.last: dict[tuple[str, str, str], _Node] = {}
        for ticket in _blockers_first(tickets):
            self._take(ticket)

    def made(self) -> Iterator[Ticket]:
        names = {node.number: merge(node.members).key for node in self.nodes}
        for node in self.nodes:
            one = merge(node.members)
            mapped = (names[self.node_of[key].number] if key in self.node_of else key for key in one.blockers)
            yield replace(one, blockers=tuple(key for key in dict.fromkeys(mapped) if key != one.key))

    def _take(self, ticket: Ticket) -> None:
        needs = {self.node_of[key].number for key in ticket.blockers if key in self.node_of}
        place = (ticket.file, ticket.spec, ticket.group)
        is_small = not ticket.has_own_check and any(place)
        node = self.last.get(place) if is_small else None
        if node is None or len(node.members) == MOST_TOGETHER or self._is_between(node, needs):
            node = _Node(len(self.nodes), [])
            self.nodes.append(node)
            if is_small:
                self.last[place] = node
        node.members.append(ticket)
        self.node_of[ticket.key] = node
        self._need(node, needs - {node.number})

    def _is_between(self, node: _Node, needs: set[int]) -> bool:
        """Whether one of them waits for the node: then nothing that waits for that one can be part of it."""
        return any(self.nodes[need].before >> node.number & 1 for need in needs if need != node.number)

    def _need(self, node: _Node, needs: set[int]) -> None:
        before = node.before
        for need in needs:
            before |= self.nodes[need].before | 1 << need
        if before == node.before:
            return
        node.before = before
        for other in self.nodes:  # those that wait for it wait for more now
            if other.before >> node.number & 1:
                other.before |= before


def _blockers_first(tickets: Sequence[Ticket]) -> Iterator[Ticket]:
    """In order, but after those that they wait for. Of a circle, which is told elsewhere, one comes first."""
    by_key = {ticket.key: ticket for ticket in tickets}
    begun: set[str] = set()
    for start in tickets:
        if start.key in begun:
            continue
        begun.add(start.key)
        way = [(start, iter(start.blockers))]
        while way:
            ticket, left = way[-1]
            key = next((one for one in left if one in by_key and one not in begun), None)
            if key is None:
                way.pop()
                yield ticket
            else:
                begun.add(key)
                way.append((by_key[key], iter(by_key[key].blockers)))
