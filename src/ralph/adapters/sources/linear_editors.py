"""Who edited the title or the description of an issue: in Linear, guests and integrations may edit what a member wrote."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ralph.adapters.online.problems import Unseen
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.linear_api import LinearApi
from ralph.adapters.sources.linear_pages import Cursor, nodes_of
from ralph.adapters.sources.linear_people import spell_kind, trusts
from ralph.adapters.sources.linear_queries import HISTORY
from ralph.values import dataclass

PAGE = 50
MOST_CHANGES = 1_000
"""Entries of a history that are read."""
SETTLED = 600.0
"""Seconds after which Linear surely has in the history whatever changed an issue."""
MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Edited:
    """``is_trusted`` None: that is not known. ``why``: what to tell if it is not True."""

    is_trusted: bool | None = True
    why: str = ""


class Editors:
    """Asks for a history only after something has changed: most looks at an issue find it as it was."""

    def __init__(self, api: LinearApi, *, now: Callable[[], float] = time.time) -> None:
        self._api = api
        self._now = now
        self._kept: dict[str, tuple[str, Edited]] = {}

    async def judge(self, issue: Shape) -> Edited:
        name, changed = issue["id"].text, issue["updatedAt"].text
        known, found = self._kept.get(name, ("", Edited()))
        if changed and changed == known:
            return found
        found = await self._ask(name)
        if 0 < issue["updatedAt"].moment < self._now() - SETTLED and found.is_trusted is not None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[name] = (changed, found)
        return found

    async def _ask(self, name: str) -> Edited:
        cursor = Cursor()
        unknown: Edited | None = None
        for _ in range(MOST_CHANGES // PAGE):
            try:
                answer = await self._api.ask(HISTORY, {"id": name, "first": PAGE, "after": cursor.place})
            except Unseen:
                return Edited(None, _told("Linear does not say who edited it"))
            found = answer["issue"]["history"]
            for change in nodes_of(found):
                verdict = _judge(change)
                if verdict.is_trusted is False:
                    return verdict
                unknown = verdict if verdict.is_trusted is None else unknown
            if not cursor.move_on(found):
                return unknown or Edited()
        return Edited(None, _told("its history is too long to see who edited it"))


def _judge(change: Shape) -> Edited:
    """A change by nobody is one by an integration or an automation, as Linear's schema says."""
    unknown = False
    for what, user, is_bot in _deeds(change):
        is_trusted = trusts(user, is_foreign=is_bot or user.is_null)
        if is_trusted is False:
            who = "an integration" if is_bot or user.is_null else spell_kind(user)
            return Edited(False, _told(f"its {what} was edited by {who}"))
        unknown = unknown or is_trusted is None
    return Edited(None, _told("Linear does not say who edited it")) if unknown else Edited()


def _deeds(change: Shape) -> Iterator[tuple[str, Shape, bool]]:
    """What was changed, by whom, and whether that was a program."""
    actor, is_bot = change["actor"], change["botActor"].is_object
    editors = list(change["descriptionUpdatedBy"])
    if change["updatedDescription"].flag or editors:
        yield from (("description", user, is_bot) for user in editors or [actor])
    if change["toTitle"].text or change["fromTitle"].text:
        yield "title", actor, is_bot


def _told(why: str) -> str:
    return f"all of its text and comments: {why}"
