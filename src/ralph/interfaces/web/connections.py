"""Connections that say nothing: whoever opens a thousand of them must not keep the others out.

A process may open only so many files, and a connection without a request is one. Each has a few seconds for the head of
its request; beyond a bound the one that has been silent for longest is closed, which a browser would simply open again.
"""

from __future__ import annotations

import asyncio
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
MOST_SILENT = 400
"""Or half of what the system lets this process open, if that is less."""
_silent: dict[GuardedProtocol, None] = {}
"""Those that no request is answered on, the longest silent first."""


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 that waits neither long nor for many."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ends: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_heard()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._is_heard()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._is_silent()

    def _is_silent(self) -> None:
        self._is_heard()
        _silent[self] = None
        self._ends = self.loop.call_later(HEAD_SECONDS, self._close)
        if len(_silent) > min(MOST_SILENT, getrlimit(RLIMIT_NOFILE)[0] // 2):
            next(iter(_silent))._close()

    def _is_heard(self) -> None:
        _silent.pop(self, None)
        if self._ends is not None:
            self._ends.cancel()
            self._ends = None

    def _close(self) -> None:
        self._is_heard()
        self.transport.abort()
