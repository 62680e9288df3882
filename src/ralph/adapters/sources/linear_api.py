"""Linear's API: a query and its variables go out, data or a clear refusal comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.online.problems import (
    LONGEST,
    UNSAID_WAIT,
    Missing,
    Unseen,
    bound_wait,
    decoded,
    garbled,
    problem_of,
    seconds_in,
)
from ralph.adapters.online.service import Service
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Answer, Request, Transport
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ServiceAway, ServiceRefused
from ralph.values import replace

ADDRESS = "https://api.linear.app/graphql"
TOKEN, ADDRESS_VARIABLE = "LINEAR_API_KEY", "LINEAR_API_URL"
LINEAR = Service(
    name="Linear",
    log_in=f"create a personal API key in Linear (Settings > Security & access) and set {TOKEN} to it",
    token=TOKEN,
    address=ADDRESS_VARIABLE,
    authorization="",  # a personal key stands alone
    headers={"Accept": "application/json"},
)
_OAUTH = "lin_oauth_"
_LIMITED = frozenset({"ratelimited"})
_NO_LOGIN = frozenset({"authentication_error", "authentication error", "unauthenticated"})
_FORBIDDEN = frozenset({"forbidden", "feature not accessible", "feature_not_accessible"})
_TROUBLE = frozenset(
    {
        "internal_server_error",
        "internal error",
        "lock timeout",
        "lock_timeout",
        "network error",
        "bootstrap error",
    }
)
_NOT_THERE = "entity not found"
_RESETS = ("requests", "complexity")


def reach_linear(around: Surroundings) -> tuple[Transport, str]:
    """How it is asked, and the path of its API. Raises ServiceRefused if there is no key, or its address is not safe."""
    from ralph.adapters.online.https import HttpsTransport

    token = around.environ.get(TOKEN, "").strip()
    if not token:
        message = f"there is no login for Linear: {TOKEN} is not set"
        raise ServiceRefused(message, hint=LINEAR.log_in)
    service = replace(LINEAR, authorization="Bearer ") if token.startswith(_OAUTH) else LINEAR
    address = around.environ.get(ADDRESS_VARIABLE, "").strip() or ADDRESS
    home, path = _split(address)
    return HttpsTransport(home, token, service=service), path


def _split(address: str) -> tuple[str, str]:
    """The transport puts a path below an address; here they are one. What is no address is left for it to refuse."""
    try:
        path = urlsplit(address).path.strip("/")
    except ValueError:
        return address, ""
    return (address.rstrip("/").removesuffix(path), path) if path else (address, "")


class LinearApi:
    """Every method raises ServiceAway and ServiceRefused, and nothing else. ``path``: of GraphQL in the transport."""

    def __init__(
        self, transport: Transport, path: str = "graphql", *, now: Callable[[], float] = time.time
    ) -> None:
        self._transport = transport
        self._path = path
        self._now = now

    async def ask(self, query: str, variables: Mapping[str, object] | None = None) -> Shape:
        """The data of the answer."""
        import msgspec

        body = msgspec.json.encode({"query": query, "variables": variables or {}})
        answer = await self._transport.ask(Request(path=self._path, method="POST", body=body))
        found = decoded(answer.body)
        if (problem := _problem(answer, found, now=self._now())) is not None:
            raise problem
        if not found["data"].is_object:
            raise garbled(wanted="data", service=LINEAR)
        return found["data"]

    async def change(self, mutation: str, variables: Mapping[str, object]) -> Shape:
        """What one mutation answers. Linear says of each whether it was done."""
        data = await self.ask(mutation, variables)
        names = list(data.value) if isinstance(data.value, Mapping) else []
        result = data[str(names[0])] if len(names) == 1 else Shape()
        if result["success"].flag is None:
            raise garbled(wanted="whether it was done", service=LINEAR)
        if not result["success"].flag:
            message = "Linear did not do it, and does not say why"
            raise ServiceRefused(message)
        return result


def _problem(answer: Answer, found: Shape, *, now: float) -> ServiceAway | ServiceRefused | None:
    """Linear answers 400 to whatever it refuses, and even 200 to some of it: what counts are the errors in the answer."""
    errors = list(found["errors"])
    if not errors:
        return problem_of(answer, now=now, service=LINEAR)
    kinds = {_kind(error) for error in errors} | {
        error["extensions"]["type"].text.lower() for error in errors
    }
    said = _said(errors)
    if answer.status == 429 or kinds & _LIMITED:
        return ServiceAway(f"Linear limits requests: {said}", after=_wait(answer, now=now))
    if answer.status == 401 or kinds & _NO_LOGIN:
        return ServiceRefused(f"not logged in to Linear: {said}", hint=LINEAR.log_in)
    if any(_NOT_THERE in error["message"].text.lower() for error in errors):
        return Missing(f"Linear has no such entry, or you may not see it: {said}")
    if answer.status == 403 or kinds & _FORBIDDEN:
        return Unseen(f"Linear does not permit it: {said}", hint="use the key of someone who may")
    if answer.status >= 500 or kinds & _TROUBLE:
        return ServiceAway(f"Linear is in trouble: {said}")
    return ServiceRefused(f"Linear refused: {said}")


def _kind(error: Shape) -> str:
    return error["extensions"]["code"].text.lower()


def _said(errors: list[Shape]) -> str:
    words = (error["extensions"]["userPresentableMessage"].text or error["message"].text for error in errors)
    line = " ".join(clean_line("; ".join(dict.fromkeys(filter(None, words)))[: 4 * LONGEST]).split())
    return (line if len(line) <= LONGEST else f"{line[:LONGEST]}…") or "it does not say why"


def _wait(answer: Answer, *, now: float) -> float:
    """Seconds. Linear counts requests, and what they cost, and says when each is counted again: in milliseconds."""
    if (seconds := seconds_in(answer.headers.get("retry-after", ""))) is not None:
        return bound_wait(seconds)
    used_up = [
        seconds_in(answer.headers.get(f"x-ratelimit-{what}-reset", ""))
        for what in _RESETS
        if answer.headers.get(f"x-ratelimit-{what}-remaining", "").strip() == "0"
    ]
    moments = [moment / 1_000 for moment in used_up if moment is not None]
    return bound_wait(max(moments) - now) if moments else UNSAID_WAIT
