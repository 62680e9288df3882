"""A line between browser and page that can be cut and restored: the same port on another address of loopback."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

HERE, THERE = "127.0.0.1", "127.0.0.2"


class Line:
    """``cut`` ends every connection and refuses new ones; ``restore`` lets them through again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    def restore(self) -> None:
        listener = socket.socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((THERE, self._port))
        except OSError:
            listener.close()
            raise
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
            listener.close()
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HERE, self._port))
            except OSError:
                near.close()
                continue
            with self._lock:
                # One that came in the moment of the cut is cut too.
                if self._listener is not listener:
                    near.close()
                    far.close()
                    continue
                self._ends |= {near, far}
            both = _Pair(near, far)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=both.carry, args=(one, other), daemon=True).start()


class _Pair:
    """Two ends; closed when neither is read any more."""

    def __init__(self, *ends: socket.socket) -> None:
        self._ends = ends
        self._lock = threading.Lock()
        self._carrying = len(ends)

    def carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._carrying -= 1
            if not self._carrying:
                for end in self._ends:
                    end.close()


@contextmanager
def loose_line(port: int) -> Iterator[Line]:
    line = Line(port)
    try:
        line.restore()
    except OSError:
        pytest.skip(f"{THERE} is not an address of this machine")
    try:
        yield line
    finally:
        line.cut()
