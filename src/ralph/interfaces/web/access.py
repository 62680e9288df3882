"""Who may talk to the page: the right host, a token, and, to change anything, the page's own origin.

Every web site the user visits and every user of the machine can reach a page on loopback. So the Host must be one of
ours (or a name pointed at loopback would do), and everything but the static files needs the token in a header. There
is no cookie: a browser sends those to the servers of all other ports, too.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ralph.values import dataclass

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
METRICS = "/metrics"
NO_TOKEN = "This page needs the address that `ralph web` printed, with its token."  # noqa: S105 (says so)
NO_HEADER = "Send the header Authorization: Bearer TOKEN; see --metrics-token in `ralph web --help`.\n"
ANOTHER_START = "The token is wrong: `ralph web` makes a new one each time it starts. Open the address that it printed last."


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``hosts`` are the names, besides addresses and localhost, under which the page may be requested. ``metrics_token``
    opens the metrics alone; empty: nothing does but the token."""

    token: str
    port: int
    secure: bool = False
    read_only: bool = False
    hosts: Iterable[str] = ()
    metrics_token: str = ""

    @property
    def scheme(self) -> str:
        return "https" if self.secure else "http"

    def is_token(self, given: str) -> bool:
        return _is_same(given, self.token)

    def opens(self, given: str, path: str) -> bool:
        may_count = bool(self.metrics_token) and path == METRICS
        return self.is_token(given) or (may_count and _is_same(given, self.metrics_token))

    def is_host(self, given: str) -> bool:
        """Nobody can point an address elsewhere; a name must be a known one."""
        try:
            parts = urlsplit(f"//{given}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if port not in (self.port, None) or parts.username is not None or parts.path:
            return False
        return name == "localhost" or name in self.hosts or _is_address(name)


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """In front of the application: only allowed requests reach it."""

    def __init__(self, app: ASGIApp, *, access: Access, public: frozenset[str]) -> None:
        self._app = app
        self._access = access
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        path: str = scope["path"]
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if path == "/" and given and not self._access.is_token(given[-1]):
            await _say(send, 401, ANOTHER_START)
            return
        if path not in self._public and not self._has_bearer(headers, path):
            await (_ask_for_header(send) if path == METRICS else _answer(send, 401, NO_TOKEN))
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._access.is_host(host):
            return 421, "This host name is not one that ralph serves."
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return 405, "Only GET and POST are supported."
        if self._access.read_only:
            return 403, "This page is read-only."
        origin = headers.get("origin")
        is_ours = origin is None or origin == f"{self._access.scheme}://{host}"
        if not is_ours or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This request comes from another page."
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "Send JSON."
        return None

    def _has_bearer(self, headers: dict[str, str], path: str) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._access.opens(token.strip(), path)


def _headers(scope: Scope) -> dict[str, str]:
    """The first of each name; two Host headers count as none."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key == "host" and key in found:
            found[key] = ""
        found.setdefault(key, value.decode("latin-1"))
    return found


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = message.get("headers", [])
            own = {name.lower() for name, _ in given}
            ours = ((name.encode(), value.encode()) for name, value in HEADERS.items())
            message["headers"] = [*given, *(pair for pair in ours if pair[0] not in own)]
        await send(message)

    return send_with_headers


async def _say(send: Send, status: int, words: str) -> None:
    """To a person who opened the address."""
    await _send(send, status, words.encode(), {"content-type": "text/plain; charset=utf-8"})


async def _answer(send: Send, status: int, words: str) -> None:
    """To the page."""
    await _send(send, status, json.dumps({"error": words}).encode(), {"content-type": "application/json"})


async def _ask_for_header(send: Send) -> None:
    """To whoever reads the metrics, which is no page."""
    headers = {"content-type": "text/plain; charset=utf-8", "www-authenticate": "Bearer"}
    await _send(send, 401, NO_HEADER.encode(), headers)


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    headers["content-length"] = str(len(body))
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
