"""Asks a service over HTTPS with a token of the environment."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from ralph.adapters.online.service import GITHUB, Service
from ralph.adapters.online.transport import MOST_BYTES, SECONDS, Answer, Ends, Request
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ServiceAway, ServiceRefused
from ralph.values import dataclass

MOST_REDIRECTS = 5
MOST_IDLE = 2
CHUNK = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD = frozenset({307, 308})


class Place(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class _Ask:
    """One exchange with one server."""

    place: Place
    path: str
    request: Request


class HttpsTransport:
    """``address``: of the API. The token goes there, and nowhere else. Raises ServiceRefused for an address that is not safe."""

    cost = 0.002

    def __init__(
        self,
        address: str,
        token: str,
        *,
        service: Service = GITHUB,
        seconds: float = SECONDS,
        most: int = MOST_BYTES,
    ) -> None:
        if not token.isascii() or not token.isprintable() or " " in token or not token:
            message = f"{service.token} is no token: it has spaces, or characters that no token has"
            raise ServiceRefused(message, hint=service.log_in)
        self._home, self._prefix = _split(address, service)
        self._service = service
        self._token = token
        self._seconds = seconds
        self._most = most
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close_all, self._idle)

    async def ask(self, request: Request) -> Answer:
        call = _Call()
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.to_thread(self._follow, request, call)
        except TimeoutError:
            message = f"{self._service.name} did not answer within {self._seconds:g} seconds"
            raise ServiceAway(message) from None
        except (HTTPException, OSError, ValueError) as error:
            raise _unreachable(self._home.host, error) from None
        finally:
            call.end()

    def _follow(self, request: Request, call: _Call) -> Answer:
        ask = _Ask(self._home, self._path(request.path), request)
        for _ in range(MOST_REDIRECTS):
            answer = self._exchange(ask, call)
            following = _redirected(ask, answer, self._service)
            if following is None:
                return answer
            ask = following
        message = f"{self._service.name} redirects without end"
        raise ServiceAway(message)

    def _path(self, path: str) -> str:
        """GraphQL is beside the REST API of an enterprise's server, not below it."""
        prefix = self._prefix
        if path == "graphql" and prefix.endswith("/v3"):
            prefix = prefix.removesuffix("/v3")
        return f"{prefix}/{path}"

    def _exchange(self, ask: _Ask, call: _Call) -> Answer:
        """A connection that was kept may be dead by now: then another one, but only if asking twice does no harm."""
        is_repeatable = ask.request.method == "GET" and ask.place == self._home
        if is_repeatable and self._idle:
            with contextlib.suppress(HTTPException, ConnectionError):
                return self._talk(self._idle.pop(), ask, call)
        return self._talk(_connection(ask.place, self._seconds), ask, call)

    def _talk(self, connection: HTTPConnection, ask: _Ask, call: _Call) -> Answer:
        call.begin(connection)
        try:
            request = ask.request
            connection.request(request.method, ask.path, body=request.body, headers=self._headers(ask))
            response = connection.getresponse()
            body = self._body(response, is_log=request.is_log)
        except BaseException:
            connection.close()
            raise
        call.done()
        self._put_back(connection, ask, is_open=not response.will_close)
        return Answer(response.status, {name.lower(): text for name, text in response.getheaders()}, body)

    def _headers(self, ask: _Ask) -> dict[str, str]:
        headers = {"User-Agent": "ralph", **self._service.headers}
        if ask.place == self._home:
            headers["Authorization"] = f"{self._service.authorization}{self._token}"
        if ask.request.body is not None:
            headers["Content-Type"] = "application/json"
        return headers | dict(ask.request.headers)

    def _body(self, response: HTTPResponse, *, is_log: bool) -> bytes:
        body = Ends(is_log=is_log, most=self._most)
        while chunk := response.read(CHUNK):
            body.add(chunk)
            if body.is_too_long:
                message = f"{self._service.name}'s answer has more than {self._most:,} bytes"
                raise ServiceAway(message)
        if response.length:
            message = f"{self._service.name}'s answer was cut off"
            raise ServiceAway(message)
        return body.value()

    def _put_back(self, connection: HTTPConnection, ask: _Ask, *, is_open: bool) -> None:
        if is_open and ask.place == self._home and len(self._idle) < MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()


class _Call:
    """Lets go of a thread that waits for a server: nothing but the end of its connection can stop it."""

    def __init__(self) -> None:
        self._connection: HTTPConnection | None = None
        self._is_over = False

    def begin(self, connection: HTTPConnection) -> None:
        if self._is_over:
            connection.close()
            message = "nobody waits for the answer any more"
            raise ConnectionAbortedError(message)
        self._connection = connection

    def done(self) -> None:
        self._connection = None

    def end(self) -> None:
        import socket

        self._is_over = True
        used = None if self._connection is None else self._connection.sock
        if isinstance(used, socket.socket):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(used, socket.SHUT_RDWR)


def _redirected(ask: _Ask, answer: Answer, service: Service) -> _Ask | None:
    """What to ask instead. Only reading leads to another server, which gets no token and nothing that we send."""
    target = answer.headers.get("location", "")
    is_read = ask.request.method == "GET"
    if answer.status not in _REDIRECTS or not target or not (is_read or answer.status in _SAME_METHOD):
        return None
    place, path = _split(urljoin(_address(ask.place, ask.path), target), service)
    if place == ask.place:
        return _Ask(place, path, ask.request)
    return _Ask(place, path, Request(path=path, is_log=ask.request.is_log)) if is_read else None


def _address(place: Place, path: str) -> str:
    host = f"[{place.host}]" if ":" in place.host else place.host
    return f"{place.scheme}://{host}:{place.port}{path}"


def _split(address: str, service: Service) -> tuple[Place, str]:
    """Raises ServiceRefused unless nobody on the way can read what goes there."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        message = f"{service.name} is asked over https only, not at {host or 'an address without a host'}"
        raise ServiceRefused(message, hint=f"see {service.address} and the settings of your proxy")
    query = f"?{parts.query}" if parts.query else ""
    place = Place(parts.scheme, host, port or (443 if parts.scheme == "https" else 80))
    return place, f"{parts.path.rstrip('/')}{query}"


def is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _connection(place: Place, seconds: float) -> HTTPConnection:
    if place.scheme == "http":
        return HTTPConnection(place.host, place.port, timeout=seconds)
    import ssl

    context = ssl.create_default_context()
    proxy = _proxy(place.host)
    if proxy is None:
        return HTTPSConnection(place.host, place.port, timeout=seconds, context=context)
    through, headers = proxy
    connection = HTTPSConnection(through.host, through.port, timeout=seconds, context=context)
    connection.set_tunnel(place.host, place.port, headers)
    return connection


def _proxy(host: str) -> tuple[Place, dict[str, str]] | None:
    """As HTTPS_PROXY and NO_PROXY say."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(getproxies().get("https", ""))
    if not parts.hostname or is_loopback(host) or proxy_bypass(host):
        return None
    return Place("http", parts.hostname, parts.port or 80), _proxy_login(parts.username, parts.password)


def _proxy_login(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    from base64 import b64encode
    from urllib.parse import unquote

    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}


def _unreachable(host: str, error: Exception) -> ServiceAway | ServiceRefused:
    from ssl import SSLCertVerificationError

    if isinstance(error, SSLCertVerificationError):
        message = f"the certificate of {host} cannot be verified: {clean_line(error.verify_message)}"
        return ServiceRefused(message, hint="set SSL_CERT_FILE if it is your company's own")
    # What Python says of a value that it cannot send may hold that value.
    said = clean_line(str(error))[:300] if isinstance(error, OSError) else type(error).__name__
    return ServiceAway(f"{host} cannot be reached: {said}")


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()
