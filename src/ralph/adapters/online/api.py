"""A JSON API over a transport: answers become shapes, refusals become errors, lists are read to their end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import quote, urlencode

from ralph.adapters.online.problems import decoded, garbled, problem_of
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Answer, Request, Transport
from ralph.errors import ServiceRefused
from ralph.patterns import pattern

PAGE = 100
MOST_PAGES = 50
UNKNOWN, IS_LAST = 0, -1
_LAST = pattern(r"[?&]page=([0-9]{1,9})(?:&[^<>]{0,500})?>; rel=\"last\"")
MOST_STREAMED = 500
"""Pages of a list that is read as it comes: a server may say of every page that there is another one."""


class Api:
    """Every method raises ServiceAway and ServiceRefused, and nothing else. ``now``: seconds since the epoch."""

    def __init__(self, transport: Transport, *, now: Callable[[], float] = time.time) -> None:
        self._transport = transport
        self.now = now

    @property
    def cost(self) -> float:
        return self._transport.cost

    async def get(self, path: str, query: Mapping[str, str | int] | None = None) -> Shape:
        """One object."""
        return self._object(await self._ask(path, query=query), path)

    async def send(self, method: str, path: str, body: Mapping[str, object] | None) -> Shape:
        """Nothing if the answer is empty."""
        answer = await self.ask(method, path, body)
        if (problem := problem_of(answer, now=self.now())) is not None:
            raise problem
        return decoded(answer.body)

    async def ask(self, method: str, path: str, body: Mapping[str, object] | None) -> Answer:
        """The answer as it is, for callers to whom a refusal means something."""
        import msgspec

        encoded = None if body is None else msgspec.json.encode(body)
        return await self._transport.ask(Request(path=path, method=method, body=encoded))

    async def log(self, path: str) -> str:
        """A text, of which the middle may be left out."""
        return (await self._ask(path, is_log=True)).body.decode(errors="replace")

    async def page(self, path: str, query: Mapping[str, str | int] | None = None, *, key: str = "") -> Shape:
        """The first page of a list, which may be in an object by ``key``."""
        return (await self._page(path, {"per_page": PAGE, **(query or {})}, key))[0]

    async def pages(
        self, path: str, query: Mapping[str, str | int] | None = None, *, key: str = ""
    ) -> list[Shape]:
        """All of a list. One that does not end is refused: a part of it that nobody read may be the part that counts."""
        found: list[Shape] = []
        for number in range(1, MOST_PAGES + 1):
            page, last = await self._page(path, {"per_page": PAGE, "page": number, **(query or {})}, key)
            found += page
            if last == IS_LAST:
                return found
            if last > MOST_PAGES:
                break  # what would be refused then is not read
        raise _endless(path, MOST_PAGES)

    async def stream(
        self, path: str, query: Mapping[str, str | int] | None = None, *, first: int = 1
    ) -> AsyncIterator[Shape]:
        """The pages of a list as they come, for callers that may have enough before its end."""
        for number in range(first, first + MOST_STREAMED):
            page, last = await self._page(path, {"per_page": PAGE, "page": number, **(query or {})}, "")
            yield page
            if last == IS_LAST:
                return
        raise _endless(path, MOST_STREAMED)

    async def _page(self, path: str, query: Mapping[str, str | int], key: str) -> tuple[Shape, int]:
        """And which page the list ends with, as far as it is known; IS_LAST: this one."""
        answer = await self._ask(path, query=query)
        found = decoded(answer.body)
        page = found[key] if key else found
        if not page.is_list or not all(entry.is_object for entry in page):
            raise garbled(wanted=f"list at {path}")
        link = answer.headers.get("link", "")
        last = _LAST.search(link)
        return page, IS_LAST if 'rel="next"' not in link else int(last[1]) if last else UNKNOWN

    async def _ask(
        self, path: str, *, query: Mapping[str, str | int] | None = None, is_log: bool = False
    ) -> Answer:
        whole = f"{path}?{urlencode(query)}" if query else path
        answer = await self._transport.ask(Request(path=whole, is_log=is_log))
        if (problem := problem_of(answer, now=self.now())) is not None:
            raise problem
        return answer

    @staticmethod
    def _object(answer: Answer, path: str) -> Shape:
        found = decoded(answer.body)
        if not found.is_object:
            raise garbled(wanted=f"object at {path}")
        return found


def _endless(path: str, pages: int) -> ServiceRefused:
    return ServiceRefused(f"GitHub lists more than {pages * PAGE:,} entries at {path}: too many to judge")


def part(name: str) -> str:
    """One part of a path: a slash in it is not one of the path."""
    return quote(name, safe="")
