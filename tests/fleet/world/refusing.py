"""A server that speaks just enough gRPC to refuse everything: what a wrong API key meets."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_HEADERS, _SETTINGS = 1, 4
_END_OF_STREAM_AND_HEADERS = 0x5
_OK = b"\x88"  # ":status: 200", as HTTP/2 has it in a table


@contextmanager
def refuse_all(status: int, message: str) -> Iterator[str]:
    """``status``: a number of gRPC. Gives the address."""

    class Refuse(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                self._answer()
            except (ConnectionError, EOFError):
                return

        def _answer(self) -> None:
            self._read(_PREFACE)
            self.wfile.write(_frame(_SETTINGS, 0, 0, b""))
            while True:
                head = self._read(9)
                self._read(int.from_bytes(head[:3]))
                if head[3] == _HEADERS:
                    stream = int.from_bytes(head[5:9])
                    self.wfile.write(_frame(_HEADERS, _END_OF_STREAM_AND_HEADERS, stream, answer))

        def _read(self, size: int) -> bytes:
            data = self.rfile.read(size)
            if len(data) < size:
                raise EOFError
            return data

    answer = _OK + _header("content-type", "application/grpc")
    answer += _header("grpc-status", str(status)) + _header("grpc-message", message)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuse) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield "{}:{}".format(*server.server_address)
        finally:
            server.shutdown()
            thread.join()


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body


def _header(name: str, value: str) -> bytes:
    """Not compressed, and not to be remembered."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
