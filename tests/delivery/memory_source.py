"""A source of tickets in memory, which passes the same contract as GitHub: for tests of what uses one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import count

from ralph.domain.tickets.hold import DONE, label_of
from ralph.domain.tickets.priority import priority_of
from ralph.domain.tickets.ticket import Move, Remark, Ticket
from ralph.domain.tickets.ticket_text import read_text
from ralph.engine.tickets.ports import Wanted
from ralph.errors import RalphError, ServiceAway, ServiceRefused

WRITERS = frozenset({"owner1", "colleague"})
URL = "https://tracker.test"
MOST_LISTED = 5_000
PAGE = 100
LONGEST_COMMENT = 60_000


@dataclass(slots=True)
class Comment:
    """``is_ralphs``: made by ``say``."""

    author: str
    text: str
    is_ralphs: bool = False


@dataclass(slots=True)
class Issue:
    """A ticket as its tracker has it, with everyone's words. ``blockers``: those that the tracker itself knows of."""

    title: str
    text: str
    author: str
    labels: list[str]
    comments: list[Comment] = field(default_factory=list)
    blockers: list[str] = field(default_factory=list)
    is_open: bool = True
    uid: str = ""


class MemorySource:
    """``asked``: the names of the methods that were called, with the key; ``pages``: how many of a hundred tickets.

    ``before`` and ``after`` are called with the method and the key, around what it does: a test may let the world change,
    or raise what kills a process.
    """

    def __init__(self, *, name: str = "memory:tickets", is_shared: bool = True) -> None:
        self.name = name
        self.is_shared = is_shared
        self.issues: dict[str, Issue] = {}
        self.asked: list[tuple[str, str]] = []
        self.pages = 0
        self.is_down = False
        self.is_forbidden = False
        self.unsure: set[str] = set()  # users of whom the tracker does not say now whether they may write
        self.before: Callable[[str, str], None] = lambda method, key: None
        self.after: Callable[[str, str], None] = lambda method, key: None
        self._troubles: dict[str, list[BaseException]] = {}
        self._numbers = count(1)
        self._former: dict[str, str] = {}  # keys of tickets that have others by now

    # --- what others do ---

    def add(
        self, title: str, text: str = "", *, user: str = "owner1", labels: tuple[str, ...] = ("ralph",)
    ) -> str:
        """Gives the key."""
        key = str(next(self._numbers))
        self.issues[key] = Issue(title, text, user, list(labels), uid=f"uid-{key}")
        return key

    def rename(self, key: str) -> str:
        """As if it were moved to another team: it gets another key, and is still found by the one that it had."""
        new = str(next(self._numbers))
        self.issues[new] = self.issues.pop(key)
        self._former[key] = new
        return new

    def edit(self, user: str, key: str, text: str) -> None:
        self.issues[key].text = text

    def comment(self, user: str, key: str, text: str) -> None:
        self.issues[key].comments.append(Comment(user, text))

    def edit_last_comment(self, user: str, key: str, text: str) -> None:
        last = [comment for comment in self.issues[key].comments if comment.author == user][-1]
        last.text = text

    def label(self, key: str, *names: str) -> None:
        self.issues[key].labels += [name for name in names if name not in self.issues[key].labels]

    def unlabel(self, key: str, name: str) -> None:
        self.issues[key].labels.remove(name)

    def block(self, key: str, *by: str) -> None:
        self.issues[key].blockers = list(by)

    def close(self, key: str) -> None:
        self.issues[key].is_open = False

    def delete(self, key: str) -> None:
        del self.issues[key]

    def comments(self, key: str) -> list[str]:
        """What ralph says there."""
        return [comment.text for comment in self.issues[key].comments if comment.is_ralphs]

    def labels(self, key: str) -> set[str]:
        return set(self.issues[key].labels)

    def is_open(self, key: str) -> bool:
        return self.issues[key].is_open

    def break_down(self) -> None:
        self.is_down = True

    def limit_requests(self) -> None:
        self.fail("tickets", ServiceAway("the tracker limits requests", after=30.0))

    def listings(self) -> int:
        """How many pages of a hundred were asked for."""
        return self.pages

    def lose_answer(self, method: str) -> None:
        """The next call does what it is asked, and its caller does not learn that."""
        self.fail(f"after {method}", ServiceAway("the answer was lost"))

    def fail(self, method: str, *errors: RalphError | BaseException) -> None:
        """Let the next calls of a method raise these, one after the other; ``after say``: when it is done."""
        self._troubles.setdefault(method, []).extend(errors)

    # --- the port ---

    async def tickets(self, wanted: Wanted) -> AsyncIterator[Ticket]:
        self._enter("tickets", "")
        found = [key for key, issue in self.issues.items() if issue.is_open and _has(issue, wanted.labels)]
        if wanted.limit is None and len(found) > MOST_LISTED:
            raise ServiceRefused("there are too many tickets", hint="use --limit")
        for place, key in enumerate(found[: wanted.limit]):
            self.pages += place % PAGE == 0
            yield self._ticket(key)
        self._leave("tickets", "")

    async def read(self, key: str) -> Ticket | None:
        self._enter("read", key)
        key = self._former.get(key, key)
        found = self._ticket(key) if key in self.issues else None
        self._leave("read", key)
        return found

    async def say(self, key: str, text: str) -> None:
        self._enter("say", key)
        issue = self._issue(key)
        text = text if len(text) <= LONGEST_COMMENT else f"{text[:LONGEST_COMMENT]} … cut: too long"
        own = next((comment for comment in issue.comments if comment.is_ralphs), None)
        if own is None:
            issue.comments.append(Comment("owner1", text, is_ralphs=True))
        else:
            own.text = text
        self._leave("say", key)

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        self._enter("move", key)
        labels = self._issue(key).labels
        put = {Move.TAKE: label_of(holder), Move.FINISH: DONE, Move.CLOSE: DONE}.get(to)
        if put is not None and put not in labels:
            labels.append(put)
        if to is not Move.TAKE and label_of(holder) in labels:
            labels.remove(label_of(holder))
        if to is Move.CLOSE:
            self._issue(key).is_open = False
        self._leave("move", key)

    # --- inside ---

    def _enter(self, method: str, key: str) -> None:
        self.asked.append((method, key))
        self.before(method, key)
        self._raise(method)
        if self.is_down:
            raise ServiceAway("the tracker cannot be reached")
        if self.is_forbidden:
            raise ServiceRefused("the tracker does not permit it", hint="log in as someone who may")

    def _leave(self, method: str, key: str) -> None:
        self.after(method, key)
        self._raise(f"after {method}")

    def _raise(self, method: str) -> None:
        if self._troubles.get(method):
            raise self._troubles[method].pop(0)

    def _issue(self, key: str) -> Issue:
        key = self._former.get(key, key)
        if key not in self.issues:
            raise ServiceRefused(f"there is no ticket {key}")
        return self.issues[key]

    def _ticket(self, key: str) -> Ticket:
        issue = self.issues[key]
        is_trusted = None if issue.author in self.unsure else issue.author in WRITERS
        said = [comment for comment in issue.comments if not comment.is_ralphs]
        heard = [Remark(one.author, one.text) for one in said if one.author in WRITERS - self.unsure]
        stated = read_text(issue.text if is_trusted else "")
        unheard = len(said) - len(heard)
        left_out = (f"{unheard} comments by people who may not write there",) if unheard else ()
        blockers = [one.removeprefix("#") for one in stated.blockers] + issue.blockers
        return Ticket(
            key=key,
            shown=f"#{key}",
            task_id=f"memory-{key}",
            title=issue.title,
            text=stated.text,
            author=issue.author,
            is_trusted=is_trusted,
            is_open=issue.is_open,
            labels=tuple(issue.labels),
            remarks=tuple(heard) if is_trusted else (),
            left_out=(*stated.left_out, *left_out) if is_trusted else ("all of its text",),
            criteria=stated.criteria,
            blockers=tuple(dict.fromkeys(blockers)) if is_trusted else (),
            priority=priority_of(issue.labels),
            estimate=stated.estimate,
            url=f"{URL}/{key}",
            uid=issue.uid,
        )


def _has(issue: Issue, labels: tuple[str, ...]) -> bool:
    return {label.casefold() for label in labels} <= {label.casefold() for label in issue.labels}
