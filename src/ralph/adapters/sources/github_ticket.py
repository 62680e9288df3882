"""What an issue of GitHub says as a ticket: its number, labels, blockers, and the words of people who may write there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import LARGEST, Shape
from ralph.adapters.sources.titles import LONGEST_UNTRUSTED, visible_title
from ralph.domain.tasks.entry import LONGEST as LONGEST_ID
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.hold import PREFIX
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket import Remark, Ticket
from ralph.domain.tickets.ticket_text import Stated, read_text
from ralph.patterns import pattern
from ralph.values import dataclass

UNTRUSTED = "all of its text and comments: its author may not write to the repository"
UNKNOWN = (
    "all of its text and comments: GitHub does not say now whether its author may write to the repository"
)
_STATES = ("open", "closed")
_NUMBER = pattern(r"[1-9][0-9]{0,18}")
_REFERENCE = pattern(
    r"(?:(?P<owner>[\w.-]+)/(?P<name>[\w.-]+))?(?:#|\bGH-)(?P<number>[1-9][0-9]{0,18})", re.ASCII
)
_ADDRESS = pattern(
    r"https?://(?P<host>[\w.:-]{1,100})/(?P<owner>[\w.-]{1,100})/(?P<name>[\w.-]{1,100})"
    r"/(?:issues|pull)/(?P<number>[1-9][0-9]{0,8})(?![\w-])(?:#[\w-]{1,100})?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Home:
    """A repository, as people may write its name: in lower case it is always the same."""

    host: str
    owner: str
    name: str

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}".lower()

    def task_id(self, number: int) -> str:
        """Of letters that a branch may have."""
        words = re.sub(r"[^a-z0-9._-]+", "-", self.name.lower())
        words = re.sub(r"\.{2,}", ".", words).lstrip("._-")
        return f"{words[: LONGEST_ID - len(str(number)) - 1] or 'issue'}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What else belongs to an issue than its own text. ``blockers``: by GitHub's own list of them."""

    remarks: tuple[Remark, ...] = ()
    left_out: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()


def ticket_of(issue: Shape, home: Home, heard: Heard) -> Ticket:
    """Of an issue whose author is trusted."""
    number, labels = issue["number"].number, labels_of(issue)
    stated = read_text(issue["body"].text)
    named, foreign = _split_blockers(_stated_blockers(issue["body"].text, stated, home), home, number)
    return Ticket(
        key=str(number),
        shown=f"#{number}",
        task_id=home.task_id(number),
        title=visible_title(issue["title"].text),
        text=stated.text,
        author=clean_line(issue["user"]["login"].text),
        is_open=is_open(issue),
        labels=labels,
        remarks=heard.remarks,
        left_out=(*stated.left_out, *foreign, *heard.left_out),
        criteria=stated.criteria,
        blockers=tuple(dict.fromkeys((*named, *(key for key in heard.blockers if key != str(number))))),
        priority=priority_of(labels),
        estimate=stated.estimate,
        url=clean_line(issue["html_url"].text),
        uid=_uid(issue),
    )


def unheard_ticket(issue: Shape, home: Home, is_trusted: bool | None) -> Ticket:
    """Of anyone else's issue: enough to name it in a list, and nothing that could reach a prompt."""
    number = issue["number"].number
    return Ticket(
        key=str(number),
        shown=f"#{number}",
        task_id=home.task_id(number),
        title=visible_title(issue["title"].text, LONGEST_UNTRUSTED),
        author=clean_line(issue["user"]["login"].text),
        is_trusted=is_trusted,
        is_open=is_open(issue),
        labels=labels_of(issue),
        left_out=(UNKNOWN if is_trusted is None else UNTRUSTED,),
        url=clean_line(issue["html_url"].text),
        uid=_uid(issue),
    )


def is_issue(found: Shape) -> bool:
    """Pull requests are in GitHub's lists of issues, too. Raises ServiceAway if it is neither."""
    if found["pull_request"].is_object:
        return False
    require_issue(found)
    return True


def require_issue(found: Shape) -> None:
    """Raises ServiceAway if anything is missing by which a ticket would look closed, unlabelled or empty."""
    body, summary = found["body"], found["issue_dependencies_summary"]
    is_whole = (
        bool(found["number"].number)
        and found["title"].is_text
        and found["state"].text in _STATES
        and found["labels"].is_list
        and all(_label(label) for label in found["labels"])
        and found.has("body")
        and (body.is_text or body.is_null)
        and found["comments"].is_count
        and all(summary[name].is_count for name in ("blocked_by", "total_blocked_by") if summary.has(name))
    )
    if not is_whole:
        raise garbled(wanted="issue")


def is_open(issue: Shape) -> bool:
    """Raises ServiceAway if it does not say."""
    if issue["state"].text not in _STATES:
        raise garbled(wanted="state of an issue")
    return issue["state"].text == "open"


def labels_of(issue: Shape) -> tuple[str, ...]:
    """GitHub ignores the case of labels, and so gives back ours as someone else may have spelled them."""
    names = (clean_line(_label(label)) for label in issue["labels"])
    return tuple(name.lower() if name.lower().startswith(PREFIX) else name for name in names if name)


def _label(label: Shape) -> str:
    return label["name"].text or label.text


def number_of(key: str) -> int:
    """0: it is no number of an issue, or larger than one that GitHub's answers may have."""
    number = int(key) if _NUMBER.fullmatch(key) else 0
    return number if number < LARGEST else 0


def _uid(issue: Shape) -> str:
    """What GitHub itself calls it; empty: it does not say."""
    return str(issue["id"].number or "")


def waited_for(blockers: Iterable[Shape], home: Home) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """GitHub's own list of what an issue is blocked by: keys, and what to say of other repositories' issues.

    Those that are closed are in it: a ticket is not another one because what it waited for is done.
    """
    found = [(one, repository_of(one)) for one in blockers]
    if not all(one["number"].number for one, _ in found):
        raise garbled(wanted="list of blockers")
    keys = [str(one["number"].number) for one, where in found if where in ("", home.repository)]
    foreign = [
        _elsewhere(f"{where}#{one['number'].number}")
        for one, where in found
        if where not in ("", home.repository) and is_open(one)
    ]
    return tuple(keys), tuple(foreign)


def repository_of(issue: Shape) -> str:
    """``owner/name`` in lower case; empty: it does not say."""
    parts = issue["repository_url"].text.lower().rstrip("/").split("/")
    return clean_line("/".join(parts[-2:])) if len(parts) > 1 else ""


def _stated_blockers(body: str, stated: Stated, home: Home) -> tuple[str, ...]:
    """People also paste addresses of issues: one on this host means ``owner/repo#12``."""

    def shorten(found: re.Match[str]) -> str:
        is_here = found["host"].lower() == home.host
        return f"{found['owner']}/{found['name']}#{found['number']}" if is_here else found[0]

    short, count = _ADDRESS.subn(shorten, body)
    return read_text(short).blockers if count else stated.blockers


def _split_blockers(stated: Sequence[str], home: Home, own: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    keys: list[str] = []
    foreign: list[str] = []
    for one in stated:
        key = _key_of(one.strip(), home)
        if not key:
            foreign.append(_elsewhere(clean_line(one)[:200]))
        elif key != str(own):
            keys.append(key)
    return tuple(keys), tuple(foreign)


def _key_of(reference: str, home: Home) -> str:
    """Empty: it is in another repository, or is no reference to an issue."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return ""
    is_here = found["owner"] is None or f"{found['owner']}/{found['name']}".lower() == home.repository
    return found["number"] if is_here else ""


def _elsewhere(what: str) -> str:
    return f"that it waits for {what}, which is no issue of this repository"
