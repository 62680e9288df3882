"""The open stdin of a process that converses."""

from __future__ import annotations

import asyncio
import os
from typing import Final

MOST_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a process that does not read. It is told no more after this: its input ends."""


class ConversationInput:
    """Writes as much as the process takes and keeps the rest, in callbacks of the event loop; the descriptor is its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._is_ending = False
        self.is_open = True

    def write(self, data: bytes) -> None:
        if not self.is_open or self._is_ending or not data:
            return
        if len(self._waiting) + len(data) > MOST_WAITING:
            self.close()
            return
        was_waiting = bool(self._waiting)
        self._waiting += data
        if not was_waiting:
            self._send()

    def finish(self) -> None:
        """The end of the input, after what waits."""
        self._is_ending = True
        if not self._waiting:
            self.close()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._waiting.clear()

    def _send(self) -> None:
        try:
            written = os.write(self._descriptor, self._waiting)
        except BlockingIOError:
            written = 0
        except OSError:  # it has closed its input, or is gone: its exit will tell
            self.close()
            return
        del self._waiting[:written]
        if self._waiting:
            self._loop.add_writer(self._descriptor, self._send)
        elif self._is_ending:
            self.close()
        else:
            self._loop.remove_writer(self._descriptor)
