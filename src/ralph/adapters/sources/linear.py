"""Linear's issues as a source of work: those of a team or of a project, ralph's labels and comment on them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.online.problems import Missing, garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Transport
from ralph.adapters.sources.linear_api import LINEAR, LinearApi, reach_linear
from ralph.adapters.sources.linear_comment import OneComment
from ralph.adapters.sources.linear_editors import Editors
from ralph.adapters.sources.linear_labels import Labels
from ralph.adapters.sources.linear_pages import Cursor, has_more, nodes_of
from ralph.adapters.sources.linear_queries import (
    COMPLETED,
    DEEP,
    PAGE,
    PROJECTS,
    REMARKS,
    SET_STATE,
    SHALLOW,
    STANDING,
    TEAMS,
    TICKET,
    TICKETS,
    VIEWER,
)  # fmt: skip
from ralph.adapters.sources.linear_ticket import (
    LISTS,
    OVER,
    is_key,
    is_open,
    labels_of,
    require_issue,
    require_standing,
    ticket_of,
    trusts_author,
    unheard_ticket,
)
from ralph.domain.text.safe_text import clean_line
from ralph.domain.tickets.hold import DONE, label_of
from ralph.domain.tickets.ticket import Move, Ticket
from ralph.engine.tickets.ports import Wanted
from ralph.errors import ServiceRefused, UsageError
from ralph.patterns import pattern
from ralph.values import dataclass

MOST_PAGES = 100
MOST_COMMENTS = 1_000
"""Comments that are read of one issue."""
_TEAM = pattern(r"[A-Z][A-Z0-9]{0,15}")
_PROJECT = pattern(r"[a-z0-9][a-z0-9-]{0,199}")


@dataclass(frozen=True, slots=True)
class Place:
    """``team``: its key; or ``project``: the last part of its address."""

    team: str = ""
    project: str = ""

    @property
    def name(self) -> str:
        return f"linear:{self.team}" if self.team else f"linear:project/{self.project}"

    @property
    def issues(self) -> dict[str, object]:
        """A filter of Linear's."""
        return {"team": self.filter} if self.team else {"project": self.filter}

    @property
    def filter(self) -> dict[str, object]:
        """Of the team or the project itself. In an address, the words of a project's name stand before what names it."""
        if self.team:
            return {"key": {"eq": self.team}}
        return {"slugId": {"in": list(dict.fromkeys((self.project, self.project.rpartition("-")[2])))}}


def open_linear(place: str, around: Surroundings) -> LinearIssues:
    """``place``: the key of a team, or ``project/`` and the last part of a project's address. Asks nothing yet.

    Raises UsageError if it can be neither, and ServiceRefused if there is no key.
    """
    found = place_of(place)
    transport, path = reach_linear(around)
    return LinearIssues(transport, found, path=path, now=around.now)


def place_of(typed: str) -> Place:
    """Raises UsageError if it names neither a team nor a project."""
    found = _read_place(typed.strip())
    if found is None:
        message = f"linear:{clean_line(typed)[:200]} names no team and no project"
        raise UsageError(message, hint="write linear:TEAM, as in ENG-7, or linear:project/SLUG")
    return found


def _read_place(place: str) -> Place | None:
    kind, slash, slug = place.lower().partition("/")
    if kind == "project" and slash:
        slug = slug.rstrip("/")
        return Place(project=slug) if _PROJECT.fullmatch(slug) else None
    team = place.rstrip("/").upper()
    return Place(team=team) if _TEAM.fullmatch(team) else None


class LinearIssues:
    """The ``Source`` of one team or project. ``now``: seconds since the epoch."""

    is_shared = True

    def __init__(
        self,
        transport: Transport,
        place: Place,
        *,
        path: str = "graphql",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = LinearApi(transport, path, now=now)
        self._labels = Labels(self._api)
        self._editors = Editors(self._api, now=now)
        self._place = place
        self._is_known = False
        self._me = ""

    @property
    def name(self) -> str:
        return self._place.name

    # --- reading ---

    async def tickets(self, wanted: Wanted) -> AsyncIterator[Ticket]:
        """In the order in which they were written."""
        seen: set[str] = set()
        if wanted.limit is not None and wanted.limit < 1:
            return
        await self._require_place()
        async for issue in self._issues(wanted):
            key = issue["identifier"].text
            if key in seen:  # the pages move on while someone works on what they list
                continue
            whole = await self._whole(issue)
            if whole is not None and _is_wanted(whole, wanted):
                seen.add(key)
                yield await self._ticket(whole)
            if len(seen) == wanted.limit:
                return

    async def _issues(self, wanted: Wanted) -> AsyncIterator[Shape]:
        needed = [{"labels": {"some": {"name": {"eqIgnoreCase": label}}}} for label in wanted.labels]
        open_ones = {"state": {"type": {"nin": list(OVER)}}}
        chosen = {**self._place.issues, **open_ones, **({"and": needed} if needed else {})}
        variables = {"filter": chosen, "last": PAGE, **SHALLOW.variables}
        cursor = Cursor(is_backwards=True)
        for _ in range(MOST_PAGES):
            found = (await self._api.ask(TICKETS, {**variables, "before": cursor.place}))["issues"]
            for issue in reversed(list(nodes_of(found))):
                yield issue
            if not cursor.move_on(found):
                return
        message = f"{self.name} lists more than {MOST_PAGES * PAGE:,} open issues"
        raise UsageError(message, hint="use a label that fewer have, or --limit to take only the first ones")

    async def read(self, key: str) -> Ticket | None:
        """Also of another team: it may block one of these."""
        if not is_key(key):
            return None
        issue = await self._issue(key)
        if issue is None:
            return None
        require_issue(issue)
        return await self._ticket(issue)

    async def _issue(self, key: str) -> Shape | None:
        """All of it but the comments after the first hundred."""
        try:
            return (await self._api.ask(TICKET, {"id": key, **DEEP.variables}))["issue"]
        except Missing:
            await self._look_for_place()  # Linear says the same of a team that we may not see any more
            return None

    async def _whole(self, issue: Shape) -> Shape | None:
        """None: it is gone by now."""
        require_issue(issue)
        if any(has_more(issue[name]) for name in LISTS):
            found = await self._issue(issue["identifier"].text)
            if found is not None:
                require_issue(found)
            return found
        return issue

    async def _ticket(self, issue: Shape) -> Ticket:
        """Of an issue that is whole, apart from its comments."""
        if (is_trusted := trusts_author(issue)) is not True:
            return unheard_ticket(issue, is_trusted=is_trusted)
        edited = await self._editors.judge(issue)
        if edited.is_trusted is not True:
            return unheard_ticket(issue, is_trusted=edited.is_trusted, why=edited.why)
        comments, is_whole = await self._comments(issue)
        return ticket_of(issue, comments, unread=not is_whole)

    async def _comments(self, issue: Shape) -> tuple[list[Shape], bool]:
        """And whether those are all of them."""
        page, cursor = issue["comments"], Cursor()
        comments = list(nodes_of(page))
        for _ in range(MOST_COMMENTS // DEEP.comments - 1):
            if not cursor.move_on(page):
                return comments, True
            variables = {"id": issue["id"].text, "first": DEEP.comments, "after": cursor.place}
            page = (await self._api.ask(REMARKS, variables))["issue"]["comments"]
            comments += nodes_of(page)
        return comments, not has_more(page)

    async def _require_place(self) -> None:
        """A list of issues is empty for a team that does not exist, too."""
        if not self._is_known:
            await self._look_for_place()
            self._is_known = True

    async def _look_for_place(self) -> None:
        query, what = (TEAMS, "teams") if self._place.team else (PROJECTS, "projects")
        found = (await self._api.ask(query, {"filter": self._place.filter}))[what]
        if not list(nodes_of(found)):
            kind = "team" if self._place.team else "project"
            message = f"Linear has no {kind} {self._place.team or self._place.project}, or you may not see it"
            raise Missing(message, hint="check its name, or use the key of someone who may see it")

    # --- writing ---

    async def say(self, key: str, text: str) -> None:
        with self._about(key):
            issue = await self._standing(key)
            await OneComment(self._api, await self._viewer()).say(issue["id"].text, text)

    async def move(self, key: str, to: Move, *, holder: str) -> None:
        own = label_of(holder)
        with self._about(key):
            issue = await self._standing(key)
            if to is not Move.FREE:
                # First: at no moment does it look as if nobody had worked on it.
                await self._labels.add(issue, own if to is Move.TAKE else DONE)
            if to is Move.CLOSE and is_open(issue):
                await self._complete(issue)
            if to is not Move.TAKE:
                await self._labels.remove(issue, own)

    async def _standing(self, key: str) -> Shape:
        """What an issue has to do with ralph now."""
        if not is_key(key):
            message = f"{self.name} has no issue {clean_line(key)[:100]}"
            raise ServiceRefused(message)
        issue = (await self._api.ask(STANDING, {"id": key}))["issue"]
        if not issue["id"].text or not issue["team"]["id"].text:
            raise garbled(wanted="an issue", service=LINEAR)
        require_standing(issue)
        return issue

    async def _complete(self, issue: Shape) -> None:
        """The first of the states in which an issue is done, in the order of its team."""
        variables = {"team": issue["team"]["id"].text, "filter": {"type": {"eq": "completed"}}}
        found = (await self._api.ask(COMPLETED, variables))["team"]["states"]
        states = [
            state for state in nodes_of(found) if state["type"].text == "completed" and state["id"].text
        ]
        if not states:
            message = "its team has no state for issues that are completed"
            raise ServiceRefused(message, hint="add one to the team's workflow in Linear")
        first = min(states, key=lambda state: _position(state))
        await self._api.change(SET_STATE, {"id": issue["id"].text, "state": first["id"].text})

    async def _viewer(self) -> str:
        self._me = self._me or (await self._api.ask(VIEWER))["viewer"]["id"].text
        if not self._me:
            raise garbled(wanted="who is logged in", service=LINEAR)
        return self._me

    @contextmanager
    def _about(self, key: str) -> Iterator[None]:
        try:
            yield
        except Missing:
            message = f"{self.name} has no issue {key}, or you may not see it"
            raise Missing(message, hint="it may have been deleted, or moved to another workspace") from None


def _is_wanted(issue: Shape, wanted: Wanted) -> bool:
    """Linear's word on the labels is not taken: they are what lets a ticket in."""
    there = {label.casefold() for label in labels_of(issue)}
    return is_open(issue) and all(label.casefold() in there for label in wanted.labels)


def _position(state: Shape) -> float:
    value: object = state["position"].value
    return float(value) if isinstance(value, int | float) else 0.0
