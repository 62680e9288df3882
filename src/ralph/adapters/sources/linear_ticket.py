"""What an issue of Linear says as a ticket: its state, labels and blockers, and the words of the workspace's own people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.linear_api import LINEAR
from ralph.adapters.sources.linear_comment import is_ours
from ralph.adapters.sources.remarks import bound_remarks
from ralph.adapters.sources.titles import LONGEST_UNTRUSTED, visible_title
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.hold import PREFIX
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket import Remark, Ticket
from ralph.domain.tickets.ticket_text import read_text

UNTRUSTED = "all of its text and comments: its author is no member of the workspace"
OVER = ("completed", "canceled", "duplicate")
"""The types of states in which nothing is left to do."""
_PRIORITIES = {1: 1, 2: 3, 3: 5, 4: 7}
_KEY = re.compile(r"[A-Z][A-Z0-9]{0,15}-[1-9][0-9]{0,9}")


def is_key(text: str) -> bool:
    """Whether it is how Linear writes the name of an issue."""
    return _KEY.fullmatch(text) is not None


def ticket_of(issue: Shape, comments: Sequence[Shape], *, unread: bool = False) -> Ticket:
    """``comments``: in any order. ``unread``: there are more than anyone would read. Raises ServiceAway if it is no issue."""
    key = issue["identifier"].text
    if not is_key(key) or not issue["id"].text:
        raise garbled(wanted="an issue", service=LINEAR)
    author = (
        _name_of(issue["creator"]) or _name_of(issue["externalUserCreator"]) or _name_of(issue["botActor"])
    )
    labels = labels_of(issue)
    if not _is_member(issue["creator"]) or _is_foreign(issue, "externalUserCreator"):
        return Ticket(
            key=key,
            shown=key,
            task_id=key,
            title=visible_title(issue["title"].text, LONGEST_UNTRUSTED),
            author=author,
            is_trusted=False,
            is_open=is_open(issue),
            labels=labels,
            left_out=(UNTRUSTED,),
            url=clean_line(issue["url"].text),
        )
    stated = read_text(issue["description"].text)
    remarks, unheard = _remarks(issue["id"].text, comments, unread=unread)
    named = [one for one in (*stated.blockers, *_blockers(issue)) if one != key]
    return Ticket(
        key=key,
        shown=key,
        task_id=key,
        title=visible_title(issue["title"].text),
        text=stated.text,
        author=author,
        is_open=is_open(issue),
        labels=labels,
        remarks=remarks,
        left_out=(*stated.left_out, *_foreign_blockers(named), *unheard),
        criteria=stated.criteria,
        blockers=tuple(dict.fromkeys(filter(is_key, named))),
        priority=_PRIORITIES.get(_whole(issue["priority"])) or priority_of(labels),
        estimate=stated.estimate if (points := _amount(issue["estimate"])) is None else points,
        url=clean_line(issue["url"].text),
    )


def is_open(issue: Shape) -> bool:
    """What is archived or in the bin is not, whatever its state is."""
    is_away = bool(issue["archivedAt"].text) or issue["trashed"].flag is True
    return issue["state"]["type"].text not in OVER and not is_away


def labels_of(issue: Shape) -> tuple[str, ...]:
    """Linear ignores the case of labels, and so gives back ours as someone else may have spelled them."""
    names = (clean_line(label["name"].text) for label in issue["labels"]["nodes"])
    return tuple(name.lower() if name.lower().startswith(PREFIX) else name for name in names if name)


def _blockers(issue: Shape) -> list[str]:
    """A relation belongs to the issue that blocks. Those that are done stay: a ticket is not another one because of that."""
    found = (one for one in issue["inverseRelations"]["nodes"] if one["type"].text == "blocks")
    return [one["issue"]["identifier"].text for one in found]


def _foreign_blockers(named: Sequence[str]) -> list[str]:
    others = dict.fromkeys(clean_line(one)[:200] for one in named if one and not is_key(one))
    return [f"that it waits for {one}, which is no issue of Linear" for one in others]


# --- whose words ---


def _is_member(user: Shape) -> bool:
    """A person who belongs to the workspace. Whatever it does not say counts against them."""
    flags = [user[name].flag for name in ("active", "guest", "app")]
    return bool(user["id"].text) and flags == [True, False, False]


def _is_foreign(said: Shape, outsider: str) -> bool:
    """An integration wrote it, or someone through one: Linear may name a member beside them."""
    return said["botActor"].is_object or said[outsider].is_object


def _is_program(comment: Shape) -> bool:
    """And not a person who writes through one."""
    is_bot = comment["botActor"].is_object and not comment["externalUser"].is_object
    return is_bot or comment["user"]["app"].flag is True


def _remarks(
    issue: str, comments: Sequence[Shape], *, unread: bool
) -> tuple[tuple[Remark, ...], tuple[str, ...]]:
    said = [one for one in comments if one["body"].text.strip() and not is_ours(one, issue)]
    said.sort(key=lambda one: (one["createdAt"].moment, one["id"].text))
    programs = [one for one in said if _is_program(one)]
    trusted = [one for one in said if _is_member(one["user"]) and not _is_foreign(one, "externalUser")]
    others = len(said) - len(trusted) - len(programs)
    remarks, cut = bound_remarks([Remark(_name_of(one["user"]), one["body"].text) for one in trusted])
    told = []
    if others:
        told.append(f"{plural(others, 'comment')} by people who are no members of the workspace")
    if programs:
        told.append(f"{plural(len(programs), 'comment')} by programs")
    if unread:
        told.append(f"all comments but {len(comments)}: there are too many to read")
    return remarks, (*told, *cut)


def _name_of(user: Shape) -> str:
    return visible_title(user["displayName"].text or user["name"].text, LONGEST_UNTRUSTED)


# --- numbers ---


def _whole(shape: Shape) -> int:
    """Linear's schema has priorities as fractions."""
    value = shape.value
    return int(value) if isinstance(value, int | float) and value in _PRIORITIES else 0


def _amount(shape: Shape) -> float | None:
    value = shape.value
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1_000_000
    return float(value) if is_amount and isinstance(value, int | float) else None
