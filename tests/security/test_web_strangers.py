"""What others on this machine can do to the page without its token: nothing, not even keep its user out."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.web.browser import Browser, chromium
from tests.web.conftest import LiveRun, Site, live, root, served, site

__all__ = ["live", "root", "site"]

MANY = 1_000
HEADS = {
    "silence": b"",
    "half a line": b"GET /",
    "half a head": b"GET / HTTP/1.1\r\nHost: localhost\r\n",
    "no body": b"POST /api/runs/r1/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
    "a whole request": b"GET /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture(scope="module", autouse=True)
def enough_files() -> Iterator[None]:
    """For our own ends of the connections; the server gets as few as a plain session has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * MANY:
        pytest.skip("this process may not open enough files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * MANY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@contextmanager
def with_few_files(folder: Path) -> Iterator[Site]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    with ExitStack() as stack:
        try:
            page = stack.enter_context(served(folder))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (4 * MANY, hard))
        yield page


@pytest.mark.parametrize("head", HEADS)
def test_a_thousand_silent_connections_keep_nobody_out(root: Path, live: LiveRun, head: str) -> None:
    with with_few_files(root) as page, ExitStack() as held:
        host, port = page.base.removeprefix("http://").split(":")
        for _ in range(MANY):
            connection = held.enter_context(socket.create_connection((host, int(port)), timeout=60))
            connection.sendall(HEADS[head])
        for _ in range(5):
            with page.client() as client:
                assert client.get("/api/state").json()["runs"][0]["id"] == "r1"


def test_a_silent_connection_is_closed_before_long(site: Site) -> None:
    host, port = site.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(HEADS["half a head"])
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""


def test_the_server_of_another_port_gets_nothing_to_act_with(site: Site, browser: Browser) -> None:
    """The user looks at the page, then opens that of another user's server on the same machine."""
    heard: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.path}\n{self.headers}")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>other</p>")

        def log_message(self, *_: object) -> None:
            pass

    browser.goto(site.address)
    browser.see(".run", "r1")
    assert browser.run("() => document.cookie") == ""
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.goto(f"http://127.0.0.1:{server.server_port}/")
        browser.see("p", "other")
        stolen = browser.run(
            "() => JSON.stringify([document.cookie, {...sessionStorage}, {...localStorage}])"
        )
        server.shutdown()
    assert heard
    assert site.token not in "".join(heard)
    assert site.token not in str(stolen)


def test_reloading_keeps_the_page_and_a_new_visit_needs_the_address(site: Site, browser: Browser) -> None:
    browser.goto(site.address)
    browser.see(".run", "r1")
    browser.run("() => location.reload()")
    browser.see(".run", "r1")
    assert "token" not in browser.run("() => location.href")
    browser.run("() => { sessionStorage.clear(); location.reload() }")
    browser.see("main", "This tab needs the link")
