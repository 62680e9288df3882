"""The model as an HTTP server on loopback, in threads of this process."""

from __future__ import annotations

import socket
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from http.server import ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Final, Self

from ralph.testing.model.handler import Handler
from ralph.testing.model.request import Request
from ralph.testing.model.script import Script, Step

MAX_CONNECTIONS: Final = 64
MAX_KEPT_REQUESTS: Final = 200
MAX_KEPT_CHARS: Final = 32 * 1024 * 1024
JOIN_SECONDS: Final = 10.0


class ScriptedModel:
    """Plays ``steps`` until it is closed; a context manager. ``url`` is the base address, without a path."""

    def __init__(self, steps: Iterable[Step], *, port: int = 0) -> None:
        self.script = Script(list(steps))
        self.closing = threading.Event()
        self._numbers = count(1)
        self._requests: deque[Request] = deque(maxlen=MAX_KEPT_REQUESTS)
        self._lock = threading.Lock()
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> Sequence[Request]:
        """The newest requests, oldest first: a bounded number of bounded size."""
        with self._lock:
            return tuple(self._requests)

    @property
    def main_requests(self) -> Sequence[Request]:
        """Those that took a step."""
        return tuple(request for request in self.requests if not request.is_side)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every answer under way and every connection, then the server."""
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(JOIN_SECONDS)
        self._server.server_close()
        self._server.end_connections()

    # --- for the handler -----------------------------------------------------------------------------------

    def next_number(self) -> int:
        return next(self._numbers)

    def note(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)
            while len(self._requests) > 1 and sum(len(each.text) for each in self._requests) > MAX_KEPT_CHARS:
                self._requests.popleft()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, model: ScriptedModel, port: int) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self) -> None:
        # HTTPServer would look up a host name here, which can ask the network.
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each connection, as in the base class, but known to ``end_connections`` from its beginning."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._lock:
            has_room = len(self._open) < MAX_CONNECTIONS
            if has_room:
                self._open[request] = thread
        if has_room:
            thread.start()
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that goes away is nothing to talk about
            super().handle_error(request, client_address)

    def end_connections(self) -> None:
        with self._lock:
            still_open = dict(self._open)
        for connection, thread in still_open.items():
            with suppress(OSError):  # it may just have ended by itself
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(JOIN_SECONDS)
