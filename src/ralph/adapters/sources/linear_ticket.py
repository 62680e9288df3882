"""What an issue of Linear says as a ticket: its state, labels and blockers, and the words of the workspace's own people."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.linear_api import LINEAR
from ralph.adapters.sources.linear_comment import is_ours
from ralph.adapters.sources.linear_people import is_foreign, is_member, trusts
from ralph.adapters.sources.remarks import bound_remarks
from ralph.adapters.sources.titles import LONGEST_UNTRUSTED, visible_title
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.hold import PREFIX
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket import Remark, Ticket
from ralph.domain.tickets.ticket_text import read_text
from ralph.patterns import pattern

UNTRUSTED = "all of its text and comments: its author is no member of the workspace"
UNKNOWN = "all of its text and comments: Linear does not say whether its author is a member of the workspace"
OVER = ("completed", "canceled", "duplicate")
"""The types of states in which nothing is left to do."""
LISTS = ("labels", "inverseRelations", "comments")
"""What of an issue is a list, of which its own answer has the beginning."""
_PRIORITIES = {1: 1, 2: 3, 3: 5, 4: 7}
_KEY = pattern(r"[A-Z][A-Z0-9]{0,15}-[1-9][0-9]{0,9}")


def is_key(text: str) -> bool:
    """Whether it is how Linear writes the name of an issue."""
    return _KEY.fullmatch(text) is not None


def require_issue(issue: Shape) -> None:
    """Raises ServiceAway if anything is missing by which a ticket would look closed, unlabelled or empty."""
    text, away, bin_ = issue["description"], issue["archivedAt"], issue["trashed"]
    relations = issue["inverseRelations"]["nodes"]
    is_whole = (
        is_key(issue["identifier"].text)
        and bool(issue["id"].text)
        and issue["title"].is_text
        and issue.has("description")
        and (text.is_text or text.is_null)
        and (away.is_text or away.is_null)
        and (bin_.flag is not None or bin_.is_null)
        and all(issue[name]["pageInfo"]["hasNextPage"].flag is not None for name in LISTS)
        and relations.is_list
        and all(one["type"].text for one in relations)
        and all(one["issue"]["identifier"].text for one in relations if one["type"].text == "blocks")
    )
    if not is_whole:
        raise garbled(wanted="an issue", service=LINEAR)
    require_standing(issue)


def require_standing(issue: Shape) -> None:
    """The same, of its state and its labels only."""
    labels = issue["labels"]["nodes"]
    if not (issue["state"]["type"].text and labels.is_list and all(label["name"].text for label in labels)):
        raise garbled(wanted="the state and the labels of an issue", service=LINEAR)


def trusts_author(issue: Shape) -> bool | None:
    """None: Linear does not say who it was."""
    return trusts(issue["creator"], is_foreign=is_foreign(issue, "externalUserCreator"))


def unheard_ticket(issue: Shape, *, is_trusted: bool | None, why: str = "") -> Ticket:
    """Enough to name it in a list, and nothing that could reach a prompt. ``why``: what is wrong, if it is not its author."""
    key = issue["identifier"].text
    return Ticket(
        key=key,
        shown=key,
        task_id=key,
        title=visible_title(issue["title"].text, LONGEST_UNTRUSTED),
        author=_author(issue),
        is_trusted=is_trusted,
        is_open=is_open(issue),
        labels=labels_of(issue),
        left_out=(why or (UNKNOWN if is_trusted is None else UNTRUSTED),),
        url=clean_line(issue["url"].text),
        uid=issue["id"].text,
    )


def ticket_of(issue: Shape, comments: Sequence[Shape], *, unread: bool = False) -> Ticket:
    """Of an issue whose words may be heard. ``comments``: in any order. ``unread``: there are more than anyone would read."""
    key, labels = issue["identifier"].text, labels_of(issue)
    stated = read_text(issue["description"].text)
    remarks, unheard = _remarks(issue["id"].text, comments, unread=unread)
    named = [one for one in (*stated.blockers, *_blockers(issue)) if one != key]
    return Ticket(
        key=key,
        shown=key,
        task_id=key,
        title=visible_title(issue["title"].text),
        text=stated.text,
        author=_author(issue),
        is_open=is_open(issue),
        labels=labels,
        remarks=remarks,
        left_out=(*stated.left_out, *_foreign_blockers(named), *unheard),
        criteria=stated.criteria,
        blockers=tuple(dict.fromkeys(filter(is_key, named))),
        priority=_PRIORITIES.get(_whole(issue["priority"])) or priority_of(labels),
        estimate=stated.estimate if (points := _amount(issue["estimate"])) is None else points,
        url=clean_line(issue["url"].text),
        uid=issue["id"].text,
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


def _author(issue: Shape) -> str:
    return _name_of(issue["creator"]) or _name_of(issue["externalUserCreator"]) or _name_of(issue["botActor"])


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
    trusted = [one for one in said if is_member(one["user"]) and not is_foreign(one, "externalUser")]
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
