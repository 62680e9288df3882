"""The door that every client comes through: a plain server and an HTTP proxy, which records and can misbehave."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from .emulator import INSIDE, Answer

HOST: Final = "github.localhost"
HOLD_SECONDS: Final = 120
API_PATHS: Final = re.compile(
    re.escape(INSIDE) + r"/(?=(?:repos|users|user|orgs|teams|rate_limit|repositories)\b)"
)
MILLISECONDS: Final = re.compile(r"(?<=T\d\d:\d\d:\d\d)\.\d{3}Z")  # GitHub's times have none
PASSED_ON: Final = ("content-type", "link", "x-ratelimit-reset", "location")


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for, as tests may examine it. Never holds the token: only whose it was."""

    method: str
    path: str  # without /api/v3 and without the query
    query: str
    user: str | None  # a login; nothing for an anonymous or unknown caller
    body: str
    base: str  # what the client called the API
    headers: Mapping[str, str]  # lower case, without Authorization
    token: str | None = field(default=None, repr=False, compare=False)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body.strip() else {}

    def option(self, name: str, default: str = "") -> str:
        return parse_qs(self.query).get(name, [default])[-1]

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


@dataclass(slots=True)
class Misbehaviour:
    """What to do wrong, to which requests, how often."""

    match: re.Pattern[str]
    status: int | None
    headers: Mapping[str, str]
    body: bytes | None
    delay: float
    close: bool
    after: bool  # do what was asked, then misbehave: the client does not learn that it was done
    left: int | None


@dataclass(slots=True)
class Held:
    """Requests that wait at the door until a test lets them in."""

    match: re.Pattern[str]
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


class Front:
    """The server, in threads of its own."""

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        sync: Callable[[], object],
        logins: Mapping[str, str],
        to_real: Callable[[str], str],
    ) -> None:
        self.requests: list[Request] = []
        self.log: list[str] = []
        self._answer = answer
        self._sync = sync
        self._logins = logins
        self._to_real = to_real
        self._wrongs: list[Misbehaviour] = []
        self._holds: list[Held] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        front = self

        class Handler(_Handler):
            world = front

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        for held in self._holds:
            held.released.set()
        self._server.shutdown()
        self._server.server_close()

    def misbehave(self, wrong: Misbehaviour) -> None:
        with self._lock:
            self._wrongs.append(wrong)

    def behave(self) -> None:
        with self._lock:
            self._wrongs.clear()

    @property
    def is_misbehaving(self) -> bool:
        """Whether a request could still be done wrong."""
        with self._lock:
            return any(wrong.left != 0 for wrong in self._wrongs)

    @contextmanager
    def hold(self, match: str) -> Iterator[Held]:
        held = Held(re.compile(match))
        with self._lock:
            self._holds.append(held)
        try:
            yield held
        finally:
            held.released.set()
            with self._lock:
                self._holds.remove(held)

    # ── one request ──

    def login(self, token: str | None) -> str | None:
        return self._logins.get(token) if token else None

    def sync(self) -> None:
        self._sync()

    def serve(self, request: Request) -> Answer | None:
        """The answer; nothing if the connection is to be closed without one."""
        with self._lock:
            self.requests.append(request)
            holds = [held for held in self._holds if held.match.search(str(request))]
        for held in holds:
            held.arrived.set()
            held.released.wait(HOLD_SECONDS)
        wrong = self._wrong(request)
        if wrong is None:
            return self._finish(request, self._judged(request))
        if wrong.delay:
            self._closing.wait(wrong.delay)
        done = self._finish(request, self._judged(request)) if wrong.after or not _answers(wrong) else None
        if wrong.close:
            return None
        if not _answers(wrong):
            return done
        body = b'{"message": "misbehaving"}' if wrong.body is None else wrong.body
        headers = {"Content-Type": "application/json; charset=utf-8", **wrong.headers}
        return Answer(wrong.status or 200, body, headers)

    def _wrong(self, request: Request) -> Misbehaviour | None:
        with self._lock:
            for wrong in self._wrongs:
                if wrong.left != 0 and wrong.match.search(str(request)):
                    if wrong.left is not None:
                        wrong.left -= 1
                    return wrong
        return None

    def _judged(self, request: Request) -> Answer:
        if request.token is not None and request.user is None:
            return failure(401, "Bad credentials")
        if request.user is None and request.method not in ("GET", "HEAD"):
            return failure(401, "Requires authentication")
        return self._answer(request)

    def _finish(self, request: Request, answer: Answer) -> Answer:
        """Real ids, the client's own names for this server, and an ETag."""
        rate = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Resource": "core"}
        headers = rate | {name: value for name, value in answer.headers.items() if name.lower() in PASSED_ON}
        content = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        body = answer.body
        if "json" in content:
            text = self._to_real(API_PATHS.sub(f"{request.base}/", body.decode()))
            text = MILLISECONDS.sub("Z", text)
            body = text.replace(INSIDE, f"https://{HOST}").encode()
        for name, value in headers.items():
            if name.lower() == "link":
                headers[name] = re.sub(r"<https?://[^/>]+(/api/v3)?/", f"<{request.base}/", value)
        if request.method == "GET" and answer.status == 200:
            tag = f'W/"{hashlib.sha256(body).hexdigest()}"'
            headers["ETag"] = tag
            if request.headers.get("if-none-match") in (tag, tag.removeprefix("W/")):
                headers.pop("Content-Type", None)
                return Answer(304, b"", headers)
        return Answer(answer.status, body, headers)


def _answers(wrong: Misbehaviour) -> bool:
    return wrong.status is not None or wrong.body is not None or wrong.close


def answer_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    given = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return Answer(status, json.dumps(value).encode(), given)


def failure(status: int, message: str, **more: Any) -> Answer:
    documentation = {"documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return answer_json({"message": message, **more, **documentation}, status)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or was killed, is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    world: Front
    protocol_version = "HTTP/1.1"
    server_version = "github.localhost"
    timeout = 300

    def log_message(self, *_: object) -> None:
        """Requests are kept as values; nothing is printed."""

    def _body(self) -> bytes:
        """gh sends what it reads from standard input in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _serve(self) -> None:
        body = self._body()
        if self.path == "/_world/sync":
            self._tell()
            return
        request = self._request(body)
        try:
            answer = self.world.serve(request)
        except Exception as error:
            # A mistake of the world's own must look like one, not like GitHub.
            self.world.log.append(f"{request}: {error!r}")
            answer = failure(599, f"the test world failed: {error!r}")
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve  # noqa: N815

    def _tell(self) -> None:
        try:
            self.world.sync()
            self._send(Answer(204, b""))
        except Exception as error:
            self.world.log.append(f"sync: {error!r}")
            self._send(Answer(500, repr(error).encode()))

    def _request(self, body: bytes) -> Request:
        parts = urlsplit(self.path)
        base = (
            f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"http://{self.headers.get('Host', '')}"
        )
        path = parts.path
        if path.startswith("/api/v3/"):
            base, path = f"{base}/api/v3", path.removeprefix("/api/v3")
        authorization = self.headers.get("Authorization") or ""
        token = re.sub(r"^(?i:bearer|token)\s+", "", authorization).strip() or None
        headers = {
            name.lower(): value for name, value in self.headers.items() if name.lower() != "authorization"
        }
        return Request(
            method=self.command,
            path=path,
            query=parts.query,
            user=self.world.login(token),
            body=body.decode("utf-8", "replace"),
            base=base,
            headers=headers,
            token=token,
        )

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(answer.body)
