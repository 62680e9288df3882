"""Receivers that answer more than anybody reads."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ralph.adapters.telemetry.short_answers import MOST_BYTES, ShortAnswers

PACKED = gzip.compress(bytes(50_000_000))


class Endless(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(PACKED)))
        self.end_headers()
        with suppress(OSError):  # until nobody listens
            while self.path == "/endless":
                self.wfile.write(bytes(MOST_BYTES))
            self.wfile.write(PACKED)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["endless", "packed"])
def test_only_the_beginning_of_an_answer_is_read(address: str, path: str) -> None:
    with ShortAnswers() as session:
        answer = session.post(f"{address}/{path}", data=b"x", timeout=30)

        assert answer.ok
        assert 0 < len(answer.content) <= MOST_BYTES
