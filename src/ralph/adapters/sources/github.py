"""GitHub issues as a source of work: which there are, whose words count, and ralph's labels and comment on them."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager

from ralph.adapters.online.api import MOST_PAGES, PAGE, Api, part
from ralph.adapters.online.github_login import GITHUB, Surroundings, reach_github, usual_host
from ralph.adapters.online.github_people import People, is_ours, is_program, is_ralphs
from ralph.adapters.online.problems import Missing, Unseen
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Transport
from ralph.adapters.sources.github_comment import OneComment
from ralph.adapters.sources.github_ticket import (
    Heard,
    Home,
    is_issue,
    is_open,
    labels_of,
    number_of,
    repository_of,
    ticket_of,
    unheard_ticket,
    waited_for,
)
from ralph.adapters.sources.remarks import bound_remarks
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.hold import DONE, label_of
from ralph.domain.tickets.ticket import Move, Remark, Ticket
from ralph.engine.tickets.ports import Wanted
from ralph.errors import ServiceRefused, UsageError
from ralph.patterns import pattern

MOST_COMMENT_PAGES = 10
"""Pages of comments that are read of one issue: anyone can write thousands."""
UNREAD_BLOCKERS = "what it waits for: GitHub has a list of its blockers, which you may not read"
_PART = pattern(r"(?!\.+$)[\w.-]{1,100}", re.ASCII)
_HOST = pattern(r"[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?")


def open_github(place: str, around: Surroundings, *, is_named: bool = True) -> GitHubIssues:
    """``place``: OWNER/REPO, or HOST/OWNER/REPO. ``is_named``: by the user, and not by the repository. Asks nothing yet.

    Raises UsageError if it names no repository, and ServiceRefused if there is no way to log in.
    """
    typed, owner, name = place_of(place)
    host = typed or usual_host(around.environ)
    transport = reach_github(host, around, is_named=bool(typed) and is_named)
    return GitHubIssues(transport, Home(host, owner, name), now=around.now)


def place_of(place: str) -> tuple[str, str, str]:
    """Host, which may be empty, owner and name. Raises UsageError if it names no repository."""
    *hosts, owner, name = ["", *place.strip().strip("/").split("/")]
    typed = "/".join(filter(None, hosts)).lower()
    is_place = _PART.fullmatch(owner) and _PART.fullmatch(name) and (not typed or _HOST.fullmatch(typed))
    if not is_place:
        message = f"github:{clean_line(place)[:200]} names no repository"
        raise UsageError(message, hint="write github:OWNER/REPO, or github:HOST/OWNER/REPO")
    return typed, owner, name


class GitHubIssues:
    """The ``Source`` of one repository. ``now``: seconds since the epoch."""

    is_shared = True

    def __init__(self, transport: Transport, home: Home, *, now: Callable[[], float] = time.time) -> None:
        self._api = Api(transport, now=now)
        self._home = home
        self._root = f"repos/{part(home.owner)}/{part(home.name)}"
        self._people = People(self._api, self._root)
        self._comment = OneComment(self._api, self._people, self._root)
        self._full_name = ""

    @property
    def name(self) -> str:
        host = "" if self._home.host == GITHUB else f"{self._home.host}/"
        return f"github:{host}{self._home.repository}"

    # --- reading ---

    async def tickets(self, wanted: Wanted) -> AsyncIterator[Ticket]:
        """In the order in which they were written."""
        seen: set[int] = set()
        if wanted.limit is not None and wanted.limit < 1:
            return
        async for issue in self._issues(wanted):
            number = issue["number"].number
            if number not in seen:  # the pages move on while someone works on what they list
                seen.add(number)
                yield await self._ticket(issue)
            if len(seen) == wanted.limit:
                return

    async def _issues(self, wanted: Wanted) -> AsyncIterator[Shape]:
        """GitHub's word on the labels is not taken: they are what lets a ticket in."""
        needed = {label.casefold() for label in wanted.labels}
        async for page in self._pages(wanted):
            for issue in page:
                if (
                    is_issue(issue)
                    and is_open(issue)
                    and needed <= {one.casefold() for one in labels_of(issue)}
                ):
                    yield issue

    async def _pages(self, wanted: Wanted) -> AsyncIterator[Shape]:
        query = {"state": "open", "sort": "created", "direction": "asc"}
        if asked := [label for label in wanted.labels if "," not in label]:
            query["labels"] = ",".join(asked)
        pages = 0
        try:
            async for page in self._api.stream(f"{self._root}/issues", query):
                pages += 1
                if pages > MOST_PAGES and wanted.limit is None:
                    raise self._too_many()
                yield page
        except Missing:
            await self._require_issues()
            raise

    def _too_many(self) -> UsageError:
        message = f"{self.name} lists more than {MOST_PAGES * PAGE:,} open issues and pull requests"
        return UsageError(message, hint="use a label that fewer have, or --limit to take only the first ones")

    async def read(self, key: str) -> Ticket | None:
        if not (number := number_of(key)):
            return None
        try:
            issue = await self._api.get(f"{self._root}/issues/{number}")
        except Missing:
            await self._require_issues()
            return None
        if not is_issue(issue) or issue["number"].number != number:
            return None
        return await self._ticket(issue) if await self._is_here(issue) else None

    async def _is_here(self, issue: Shape) -> bool:
        """An issue that was moved to another repository is found there. So is one of a repository that was renamed."""
        where = repository_of(issue)
        if where in ("", self._home.repository):
            return True
        self._full_name = self._full_name or (await self._repository())["full_name"].text.lower()
        return where == self._full_name

    async def _require_issues(self) -> None:
        """What GitHub says of one missing issue it says of all of them if we may not see the repository (any more)."""
        if (await self._repository())["has_issues"].flag is False:
            message = f"issues are turned off in {self._home.repository}"
            raise ServiceRefused(message, hint="turn them on in the repository's settings")

    async def _repository(self) -> Shape:
        try:
            return await self._api.get(self._root)
        except Missing:
            message = f"GitHub has no repository {self._home.repository}, or you may not see it"
            raise Missing(message, hint="check its name, or log in as someone who may see it") from None

    async def _ticket(self, issue: Shape) -> Ticket:
        if (is_trusted := await self._people.trusts(issue)) is not True:
            return unheard_ticket(issue, self._home, is_trusted)
        remarks, left_out = await self._remarks(issue)
        blockers, foreign = await self._blockers(issue)
        heard = Heard(remarks=remarks, left_out=(*foreign, *left_out), blockers=blockers)
        return ticket_of(issue, self._home, heard)

    async def _remarks(self, issue: Shape) -> tuple[tuple[Remark, ...], tuple[str, ...]]:
        comments, unread = await self._comments(issue)
        me = await self._people.me() if comments else ""
        said = [one for one in comments if one["body"].text.strip() and not is_ours(one, me)]
        trust = [await self._people.trusts(one) for one in said]
        programs = sum(is_program(one["user"]) for one in said)
        # What another machine's ralph says is no wish of anyone's.
        remarks = [
            Remark(one["user"]["login"].text, one["body"].text)
            for one, is_trusted in zip(said, trust, strict=True)
            if is_trusted and not is_ralphs(one)
        ]
        kept, cut = bound_remarks(remarks)
        others = {"others": trust.count(False) - programs, "unknown": trust.count(None)}
        return kept, (*_unheard(**others, programs=programs, unread=unread), *cut)

    async def _comments(self, issue: Shape) -> tuple[list[Shape], int]:
        """The newest, in the order in which they were written, and how many older ones there are."""
        if not (count := issue["comments"].number):
            return [], 0
        path = f"{self._root}/issues/{issue['number'].number}/comments"
        first = max(1, -(-count // PAGE) - MOST_COMMENT_PAGES + 1)
        found: list[Shape] = []
        pages = 0
        async for page in self._api.stream(path, first=first):
            found += page
            pages += 1
            if pages > MOST_COMMENT_PAGES:  # some may have been written meanwhile
                break
        found.sort(key=lambda one: (one["created_at"].moment, one["id"].number))
        return found, (first - 1) * PAGE

    async def _blockers(self, issue: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What GitHub itself knows of them, where it does and we may ask."""
        summary = issue["issue_dependencies_summary"]
        if not (summary["blocked_by"].number or summary["total_blocked_by"].number):
            return (), ()
        path = f"{self._root}/issues/{issue['number'].number}/dependencies/blocked_by"
        try:
            return waited_for(await self._api.page(path), self._home)
        except Unseen:
            return (), (UNREAD_BLOCKERS,)

    # --- writing ---

    async def say(self, key: str, text: str) -> None:
        with self._about(number := self._number(key)):
            await self._comment.say(number, text)

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        number, own = self._number(key), label_of(holder)
        with self._about(number):
            if to is not Move.FREE:
                # First: at no moment does it look as if nobody had worked on it.
                await self._add_label(number, own if to is Move.TAKE else DONE)
            if to is not Move.TAKE:
                await self._remove_label(number, own)
            if to is Move.CLOSE:
                await self._close(number)

    async def _add_label(self, number: int, label: str) -> None:
        """GitHub makes a label that the repository does not have yet."""
        await self._api.send("POST", f"{self._root}/issues/{number}/labels", {"labels": [label]})

    async def _remove_label(self, number: int, label: str) -> None:
        try:
            await self._api.send("DELETE", f"{self._root}/issues/{number}/labels/{part(label)}", None)
        except Missing:
            return  # it is not there, or the issue is not

    async def _close(self, number: int) -> None:
        """Someone else's reason stays."""
        path = f"{self._root}/issues/{number}"
        if is_open(await self._api.get(path)):
            await self._api.send("PATCH", path, {"state": "closed", "state_reason": "completed"})

    def _number(self, key: str) -> int:
        if not (number := number_of(key)):
            message = f"{self.name} has no issue {clean_line(key)[:100]}"
            raise ServiceRefused(message)
        return number

    @contextmanager
    def _about(self, number: int) -> Iterator[None]:
        try:
            yield
        except Missing:
            message = f"{self.name} has no issue #{number}, or you may not see it"
            raise Missing(message, hint="it may have been deleted, or moved to another repository") from None


def _unheard(*, others: int, unknown: int, programs: int, unread: int) -> Sequence[str]:
    told = []
    if others:
        told.append(f"{plural(others, 'comment')} by people who may not write to the repository")
    if unknown:
        told.append(
            f"{plural(unknown, 'comment')} by people of whom GitHub does not say now whether they may write there"
        )
    if programs:
        told.append(f"{plural(programs, 'comment')} by programs")
    if unread:
        told.append(f"the first {plural(unread, 'comment')}: there are too many to read")
    return told
