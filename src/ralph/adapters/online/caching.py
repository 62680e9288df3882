"""Asks again only for what has changed, and not at all while the service limits requests."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from ralph.adapters.online.problems import limit_of, wait_for_reset
from ralph.adapters.online.service import GITHUB, Service
from ralph.adapters.online.transport import Answer, Request, Transport
from ralph.errors import ServiceAway
from ralph.values import replace

MOST_KEPT = 2_000
MOST_BYTES = 50_000_000


class Caching:
    """A ``Transport`` around another. An answer that has not changed costs nothing of the service's limit.

    ``now``: seconds since the epoch.
    """

    def __init__(
        self, inner: Transport, *, now: Callable[[], float] = time.time, service: Service = GITHUB
    ) -> None:
        self._inner = inner
        self._service = service
        self._now = now
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._bytes = 0
        self._closed_until: dict[str, float] = {}

    @property
    def cost(self) -> float:
        return self._inner.cost

    async def ask(self, request: Request) -> Answer:
        self._require_open(request)
        kept = self._kept.get(request.path) if _is_kept(request) else None
        answer = await self._inner.ask(request if kept is None else _conditional(request, kept))
        self._note_limits(request, answer)
        if answer.status == 304 and kept is not None:
            if request.path in self._kept:
                self._kept.move_to_end(request.path)
            return kept
        if _is_kept(request):
            self._keep(request.path, answer)
        return answer

    # --- limits ---

    def _require_open(self, request: Request) -> None:
        left = max((self._closed_until.get(each, 0.0) for each in ("", _counted(request))), default=0.0)
        if (wait := left - self._now()) > 0:
            # A moment, which stays the same while one waits for it.
            until = time.strftime("%H:%M:%S", time.localtime(left))
            message = f"{self._service.name} limits requests; it takes the next one at {until}"
            raise ServiceAway(message, after=wait)

    def _note_limits(self, request: Request, answer: Answer) -> None:
        now = self._now()
        is_used_up = answer.headers.get("x-ratelimit-remaining") == "0"
        if (wait := limit_of(answer, now=now)) is not None:
            self._closed_until[_counted(request) if is_used_up else ""] = now + wait
        elif is_used_up and answer.headers.get("x-ratelimit-reset"):
            self._closed_until[_counted(request)] = now + wait_for_reset(answer, now=now)

    # --- what is kept ---

    def _keep(self, path: str, answer: Answer) -> None:
        self._forget(path)
        if answer.status != 200 or not answer.headers.get("etag") or len(answer.body) > MOST_BYTES:
            return
        self._kept[path] = answer
        self._bytes += len(answer.body)
        while len(self._kept) > MOST_KEPT or self._bytes > MOST_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, path: str) -> None:
        if (gone := self._kept.pop(path, None)) is not None:
            self._bytes -= len(gone.body)


def _is_kept(request: Request) -> bool:
    return request.method == "GET" and not request.is_log


def _conditional(request: Request, kept: Answer) -> Request:
    return replace(request, headers={**request.headers, "If-None-Match": kept.headers["etag"]})


def _counted(request: Request) -> str:
    """What the service counts it as: it has a limit of its own for GraphQL."""
    return "graphql" if request.path == "graphql" else "core"
