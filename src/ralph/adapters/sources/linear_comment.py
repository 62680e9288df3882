"""ralph's one comment on an issue. Linear drops hidden marks in a text, but takes the name that we give to a new comment.

The name follows from whose comment it is and where: whoever was killed after making it finds it again, and nobody can make
a second one.
"""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

from ralph.adapters.online.problems import Missing
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.comment_text import cut_comment
from ralph.adapters.sources.linear_api import LinearApi
from ralph.adapters.sources.linear_queries import CREATE_COMMENT, EDIT_COMMENT
from ralph.errors import ServiceRefused

LONGEST = 60_000
MOST_DELETED = 5
"""How often people may delete it: a name is never free again."""


def is_ours(comment: Shape, issue: str) -> bool:
    """``issue``: its id. Also of another machine: it says what happened, and asks for nothing."""
    user = comment["user"]["id"].text
    return bool(user) and comment["id"].text in {comment_id(user, issue, n) for n in range(MOST_DELETED)}


def comment_id(user: str, issue: str, number: int = 0) -> str:
    """``number``: how many of them were deleted."""
    digest = sha256(f"ralph's comment {number} of {user} on {issue}".encode()).digest()
    return str(UUID(bytes=digest[:16], version=4))


class OneComment:
    """``user``: the id of whoever ralph is logged in as."""

    def __init__(self, api: LinearApi, user: str) -> None:
        self._api = api
        self._user = user

    async def say(self, issue: str, text: str) -> None:
        """``issue``: its id."""
        body = cut_comment(text, LONGEST)
        for number in range(MOST_DELETED):
            name = comment_id(self._user, issue, number)
            if await self._edit(name, body):
                return
            refused = await self._create(name, issue, body)
            # Another process of ours may have been faster.
            if refused is None or await self._edit(name, body):
                return
            if not _is_taken(refused):
                raise refused
        message = "Linear takes no comment of ralph's on this issue any more"
        raise ServiceRefused(message, hint=f"it was deleted {MOST_DELETED} times")

    async def _edit(self, name: str, body: str) -> bool:
        try:
            await self._api.change(EDIT_COMMENT, {"id": name, "body": body})
        except Missing:
            return False
        return True

    async def _create(self, name: str, issue: str, body: str) -> ServiceRefused | None:
        """None: it is made."""
        try:
            await self._api.change(CREATE_COMMENT, {"input": {"id": name, "issueId": issue, "body": body}})
        except ServiceRefused as refused:
            return refused
        return None


def _is_taken(refused: ServiceRefused) -> bool:
    """There was one of this name, which somebody has deleted."""
    words = refused.message.lower()
    return any(one in words for one in ("already exist", "duplicate", "conflict", "unique"))
