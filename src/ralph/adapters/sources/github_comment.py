"""ralph's one comment on an issue: found by its mark and its author, edited, and never there twice for long."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.online.api import Api
from ralph.adapters.online.github_people import People, is_program
from ralph.adapters.online.problems import Missing, Unseen
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.comment_text import cut_comment

MARK = "<!-- ralph:ticket -->"
LONGEST = 60_000
"""GitHub takes 65,536 characters."""


class OneComment:
    """``root``: the repository's path in the API."""

    def __init__(self, api: Api, people: People, root: str) -> None:
        self._api = api
        self._people = people
        self._root = root
        self._known: dict[int, int] = {}  # by the number of an issue: others' comments need not be searched

    async def say(self, number: int, text: str) -> None:
        """Whoever was killed after the comment was made finds it again; of two that were made at once the older one stays.

        An issue with more comments than can be searched is told nothing: ralph's own may be among them.
        """
        body = f"{cut_comment(text, LONGEST)}\n\n{MARK}"
        kept = await self._edit(await self._remember(number), body)
        if kept is None:
            kept = await self._find_or_make(number, body)
        if kept is not None:
            self._known[number] = _id(kept)

    async def _remember(self, number: int) -> list[Shape]:
        """Ours, if it was found before and is still there."""
        if (known := self._known.pop(number, 0)) == 0:
            return []
        try:
            found = await self._api.get(self._path(known))
        except Unseen:
            return []
        return [found] if _id(found) == known and _is_ours(found, await self._people.me()) else []

    async def _find_or_make(self, number: int, body: str) -> Shape | None:
        """None: it is made, and GitHub does not list it yet."""
        found = await self._find(number)
        if (kept := await self._edit(found, body)) is None:
            await self._api.send("POST", f"{self._root}/issues/{number}/comments", {"body": body})
            found = await self._find(number)
            kept = await self._edit(found, body)
        for other in found:
            if kept is not None and _id(other) > _id(kept):
                await self._delete(other)
        return kept

    async def _find(self, number: int) -> list[Shape]:
        """Our own, the oldest first."""
        comments = await self._api.pages(f"{self._root}/issues/{number}/comments")
        me = await self._people.me()
        return sorted((one for one in comments if _id(one) and _is_ours(one, me)), key=_id)

    async def _edit(self, found: Sequence[Shape], body: str) -> Shape | None:
        """The one that says it now. None: there is none that we may edit, for it is gone or another program's."""
        for comment in found:
            if _lines(comment["body"].text) == _lines(body):
                return comment
            try:
                await self._api.send("PATCH", self._path(_id(comment)), {"body": body})
            except Unseen:
                continue
            return comment
        return None

    async def _delete(self, comment: Shape) -> None:
        try:
            await self._api.send("DELETE", self._path(_id(comment)), None)
        except Missing:
            return  # someone was faster

    def _path(self, comment: int) -> str:
        return f"{self._root}/issues/comments/{comment}"


def _is_ours(comment: Shape, me: str) -> bool:
    """The mark as we write it, on the last line. Whoever has a workflow's token does not know their name: they are a bot."""
    last = comment["body"].text.rstrip().rpartition("\n")[2].strip()
    user = comment["user"]
    is_me = user["login"].text.lower() == me.lower() if me else is_program(user)
    return last == MARK and is_me


def _id(comment: Shape) -> int:
    return comment["id"].number


def _lines(text: str) -> list[str]:
    """GitHub may give back other ends of lines than it got."""
    return [line.rstrip() for line in text.rstrip().splitlines()]
