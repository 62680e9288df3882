"""Which tickets may be worked on: closed unless a ticket's label, its author and its words open it."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.tickets.hold import is_done, label_of, others
from ralph.domain.tickets.ticket import Ticket

NOTHING_TO_CHECK = "nothing in it can be checked: add boxes (`- [ ] …`), or a list under a heading `Acceptance criteria` or `Done when`"


def why_unwanted(ticket: Ticket, *, labels: Sequence[str]) -> str:
    """Why nobody is to work on a ticket of a tracker, whatever it says; empty: someone may. ``labels``: all that it needs.

    Only what the tracker said for certain: for this, work that has begun is ended.
    """
    missing = [label for label in labels if label.casefold() not in map(str.casefold, ticket.labels)]
    if not ticket.is_open:
        return "it is closed"
    if missing:
        return f"it has no label {missing[0]}"
    if ticket.is_trusted is False:
        who = f"{ticket.author}, who" if ticket.author else "someone who"
        return (
            f"it was written by {who} may not write there: write a ticket of your own with what you want done"
        )
    if done := next(filter(is_done, ticket.labels), ""):
        return f"it is done: it has the label {done}"
    return ""


def why_unsure(ticket: Ticket) -> str:
    """What is not known that must be before work on it begins; empty: nothing. No reason to end work that has begun."""
    who = ticket.author or "its author"
    return f"it is not known whether {who} may write there" if ticket.is_trusted is None else ""


def why_held(ticket: Ticket, *, holder: str, labels: Sequence[str]) -> str:
    """Another machine works on it; empty: none does. ``holder``: this one. ``labels``: what it needs, which is nobody's name
    even if it looks like one."""
    needed = set(map(str.casefold, labels))
    if held := others([label for label in ticket.labels if label.casefold() not in needed], holder):
        return f"{held[0]} works on it: remove the label {label_of(held[0])} if that machine is gone"
    return ""


def missing_parts(ticket: Ticket) -> tuple[str, ...]:
    """What a ticket lacks that work could be judged by; none: it is ready."""
    missing = [] if ticket.criteria else [NOTHING_TO_CHECK]
    return (*(["it has no title"] if not ticket.title.strip() else ()), *missing)
