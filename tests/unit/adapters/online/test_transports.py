"""The ways to a forge, against small servers and programs of the tests' own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.fake_transport import Answers, FakeTransport, answer, refusal

from ralph.adapters.online.caching import Caching
from ralph.adapters.online.gh import GhTransport, parse_answer
from ralph.adapters.online.https import HttpsTransport
from ralph.adapters.online.transport import Answer, Ends, Request
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.errors import ServiceAway, ServiceRefused

Handle = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(handle: Handle) -> Iterator[tuple[str, list[BaseHTTPRequestHandler]]]:
    seen: list[BaseHTTPRequestHandler] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append(self)
            handle(self)

        do_POST = do_GET  # noqa: N815

        do_CONNECT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"{}", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def ask(transport: HttpsTransport | GhTransport | Caching, path: str = "a", **options: Any) -> Answer:
    return asyncio.run(asyncio.wait_for(transport.ask(Request(path=path, **options)), 30))


# --- https ---


def test_a_redirect_to_another_server_carries_no_token() -> None:
    with serving(lambda handler: reply(handler, 200, b"the log")) as (store, stored):

        def redirect(handler: BaseHTTPRequestHandler) -> None:
            reply(handler, 302, Location=f"{store}/log?sig=1")

        with serving(redirect) as (home, asked):
            found = ask(HttpsTransport(home, "tok"), "logs", is_log=True)

    assert found.body == b"the log"
    assert asked[0].headers["Authorization"] == "Bearer tok"
    assert stored[0].path == "/log?sig=1"
    assert "Authorization" not in stored[0].headers


def test_a_redirect_to_the_same_server_carries_it() -> None:
    def handle(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/old":
            reply(handler, 301, Location="/new")
        else:
            reply(handler, 200, b"[]")

    with serving(handle) as (home, asked):
        assert ask(HttpsTransport(home, "tok"), "old").body == b"[]"
    assert [each.headers["Authorization"] for each in asked] == ["Bearer tok"] * 2


@pytest.mark.parametrize("target", ["http://example.com/", "ftp://127.0.0.1/", "file:///etc/passwd"])
def test_a_redirect_to_where_others_listen_is_refused(target: str) -> None:
    with (
        serving(lambda handler: reply(handler, 302, Location=target)) as (home, _),
        pytest.raises(ServiceRefused, match="https only"),
    ):
        ask(HttpsTransport(home, "tok"))


def test_what_is_written_is_not_sent_elsewhere_by_a_redirect() -> None:
    with serving(lambda handler: reply(handler, 200)) as (other, seen):

        def redirect(handler: BaseHTTPRequestHandler) -> None:
            handler.rfile.read(int(handler.headers["Content-Length"]))
            reply(handler, 307, Location=other)

        with serving(redirect) as (home, _):
            found = ask(HttpsTransport(home, "tok"), method="POST", body=b'{"a": 1}')
    assert found.status == 307
    assert not seen


def test_redirects_end() -> None:
    with (
        serving(lambda handler: reply(handler, 302, Location="/again")) as (home, _),
        pytest.raises(ServiceAway, match="redirects without end"),
    ):
        ask(HttpsTransport(home, "tok"))


def test_one_connection_serves_many_questions_and_a_dead_one_is_replaced() -> None:
    with serving(lambda handler: reply(handler, 200)) as (home, seen):
        transport = HttpsTransport(home, "tok")
        for _ in range(3):
            assert ask(transport).status == 200
        assert len({each.client_address for each in seen}) == 1
        seen[-1].close_connection = True
        seen[-1].connection.close()
        assert ask(transport).status == 200


def test_a_cut_answer_is_none() -> None:
    def handle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{}")
        handler.close_connection = True

    with serving(handle) as (home, _), pytest.raises(ServiceAway):
        ask(HttpsTransport(home, "tok"))


def test_a_server_that_drips_is_not_waited_for() -> None:
    over = threading.Event()

    def handle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(300):
            handler.wfile.write(b" ")
            if over.wait(0.1):
                break

    with serving(handle) as (home, _):
        try:
            with pytest.raises(ServiceAway, match="within"):
                ask(HttpsTransport(home, "tok", seconds=0.5))
        finally:
            over.set()


def test_the_token_is_in_no_error() -> None:
    with pytest.raises(ServiceAway) as caught:
        ask(HttpsTransport("http://127.0.0.1:1", "tok123"))
    assert "tok123" not in str(caught.value)
    with pytest.raises(ServiceRefused) as refused:
        HttpsTransport("https://api.github.com", "tok123\nX-Evil: 1")
    assert "tok123" not in str(refused.value)


def test_a_proxy_is_asked_for_a_tunnel_and_gets_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda handler: reply(handler, 403)) as (proxy, seen):
        monkeypatch.setenv("HTTPS_PROXY", proxy.replace("//", "//ann:secret@"))
        monkeypatch.setenv("NO_PROXY", "")
        with pytest.raises(ServiceAway) as caught:
            ask(HttpsTransport("https://api.github.example", "tok"))

    assert (seen[0].command, seen[0].path) == ("CONNECT", "api.github.example:443")
    assert seen[0].headers["Proxy-Authorization"] == "Basic YW5uOnNlY3JldA=="
    assert "Authorization" not in seen[0].headers
    assert "secret" not in str(caught.value)


def test_graphql_is_beside_the_api_of_a_server() -> None:
    with serving(lambda handler: reply(handler, 200)) as (home, seen):
        ask(HttpsTransport(f"{home}/api/v3", "tok"), "graphql")
        ask(HttpsTransport(home, "tok"), "graphql")
    assert [each.path for each in seen] == ["/api/graphql", "/graphql"]


# --- gh ---


def gh(folder: Path, script: str, *, seconds: float = 20.0) -> GhTransport:
    program = folder / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    runner = PosixProcessRunner(run_id="x", base_environment={"PATH": "/usr/bin:/bin"})
    return GhTransport(runner, host="github.com", cwd=folder, program=str(program), seconds=seconds)


def test_gh_gets_the_body_by_a_file_that_is_gone_afterwards(tmp_path: Path) -> None:
    script = """
    printf '%s\\n' "$@" > arguments
    while [ "$1" != --input ]; do shift; done
    cp "$2" body
    printf 'HTTP/2.0 201 Created\\r\\nETag: "x"\\r\\n\\r\\n{"a": 1}'
    """
    found = ask(gh(tmp_path, script), "repos/o/r/pulls", method="POST", body=b'{"title": "t"}')

    assert (found.status, found.headers["etag"], found.body) == (201, '"x"', b'{"a": 1}')
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:6] == ["api", "-i", "--hostname", "github.com", "--method", "POST"]
    assert arguments[-1] == "repos/o/r/pulls"
    assert (tmp_path / "body").read_bytes() == b'{"title": "t"}'
    assert not Path(arguments[arguments.index("--input") + 1]).exists()


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        ("echo 'To get started, please run: gh auth login' >&2; exit 4", ServiceRefused, "not logged in"),
        ("echo 'dial tcp: connection refused' >&2; exit 1", ServiceAway, "connection refused"),
        ("exit 0", ServiceAway, "exit code 0"),
        ("printf 'HTTP/2.0 200 OK\\r\\n\\r\\n[1'; echo 'unexpected EOF' >&2; exit 1", ServiceAway, "EOF"),
        ("kill -9 $$", ServiceAway, "gh ended"),
    ],
)
def test_what_gh_cannot_do(tmp_path: Path, script: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        ask(gh(tmp_path, script))


def test_refusals_are_answers_to_gh_too(tmp_path: Path) -> None:
    script = "printf 'HTTP/2.0 %s X\\r\\n\\r\\n{}' \"${1#x}\" >/dev/null; printf 'HTTP/2.0 304 Not Modified\\r\\n\\r\\n'; exit 1"
    assert ask(gh(tmp_path, script)).status == 304


def test_a_gh_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ServiceAway, match=r"within 0\.5 seconds"):
        ask(gh(tmp_path, "sleep 30", seconds=0.5))


def test_gh_is_not_there(tmp_path: Path) -> None:
    runner = PosixProcessRunner(run_id="x", base_environment={})
    with pytest.raises(ServiceRefused, match="gh cannot be started"):
        ask(GhTransport(runner, host="h", cwd=tmp_path, program=str(tmp_path / "none")))


@pytest.mark.parametrize(
    "output", [b"", b"{}", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b", b"\xff\r\n\r\n"]
)
def test_what_is_no_answer(output: bytes) -> None:
    assert parse_answer(output) is None


# --- limits and what is kept ---


class Clock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


def caching(**answers: Any) -> tuple[Caching, FakeTransport, Clock]:
    inner, clock = FakeTransport({f"GET {name}": given for name, given in answers.items()}), Clock()
    return Caching(inner, now=clock), inner, clock


def test_what_has_not_changed_is_kept() -> None:
    first = answer(200, [1], etag='W/"1"', link='<x>; rel="next"')
    transport, inner, _ = caching(a=Answers([first, answer(304), answer(200, [2], etag='"2"')]))

    found = [ask(transport), ask(transport), ask(transport)]

    assert found[:2] == [first, first]
    assert json.loads(found[2].body) == [2]
    sent = [request.headers.get("If-None-Match") for request in inner.asked]
    assert sent == [None, 'W/"1"', 'W/"1"']


def test_logs_and_writes_are_not_kept() -> None:
    transport, inner, _ = caching(a=answer(200, [1], etag='"1"'))
    for _ in range(2):
        ask(transport, is_log=True)
        ask(transport, method="POST", body=b"{}")
    assert not any(request.headers for request in inner.asked)


def test_nothing_is_asked_before_a_limit_is_over() -> None:
    limited = refusal(403, "secondary rate limit", retry_after="30")
    transport, inner, clock = caching(a=Answers([limited, answer(200, [])]))
    assert ask(transport).status == 403

    for _ in range(3):
        with pytest.raises(ServiceAway) as caught:
            ask(transport)
        assert caught.value.after == 30.0
    assert len(inner.asked) == 1
    clock.time += 30.5
    assert ask(transport).status == 200


def test_the_last_request_of_an_hour_is_the_last() -> None:
    spent = answer(200, [], x_ratelimit_remaining="0", x_ratelimit_reset="1100")
    transport, inner, clock = caching(a=spent, graphql=answer(200, {}))
    assert ask(transport).status == 200
    with pytest.raises(ServiceAway):
        ask(transport)
    assert ask(transport, "graphql").status == 200  # it has a limit of its own
    clock.time = 1101.0
    assert ask(transport).status == 200
    assert len(inner.asked) == 3


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph.adapters.online.caching.MOST_BYTES", 1_000)
    answers = {f"a{number}": answer(200, "x" * 300, etag='"1"') for number in range(10)}
    transport, _, _ = caching(**answers)
    for name in answers:
        ask(transport, name)
    assert sum(len(kept.body) for kept in transport._kept.values()) <= 1_000
    assert transport._bytes == sum(len(kept.body) for kept in transport._kept.values())


def test_both_ends_of_a_log_without_end() -> None:
    ends = Ends(is_log=True)
    ends.add(b"first")
    for _ in range(300):
        ends.add(b"x" * 65_536)
        assert not ends.is_too_long
    ends.add(b"last")
    value = ends.value()
    assert value.startswith(b"first")
    assert value.endswith(b"last")
    assert len(value) < 4_100_000
