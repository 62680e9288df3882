"""Writing to a stream that may go away: ``| head`` ends, the terminal is closed. The run continues."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TextIO


class Outlet:
    """Writes text at once. ``closed`` once nobody reads any more; from then on it keeps quiet."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.closed = False

    def write(self, text: str) -> None:
        """In the stream's own encoding; what it cannot express is escaped."""
        if text:
            self._try(lambda: self._write_text(text))

    def write_utf8(self, data: bytes) -> None:
        """Whatever the stream's encoding is: formats like JSON prescribe theirs."""
        self._try(lambda: self._write_bytes(data))

    def _write_text(self, text: str) -> None:
        stream = self._stream
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _write_bytes(self, data: bytes) -> None:
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:
            self._stream.write(data.decode())
        else:
            buffer.write(data)

    def _try(self, write: Callable[[], None]) -> None:
        if self.closed:
            return
        try:
            write()
            self._stream.flush()
        except BlockingIOError:
            self._wait_for_reader()
        except (OSError, ValueError):  # broken pipe, hung-up terminal, closed file
            self._close()

    def _wait_for_reader(self) -> None:
        # A child that shares the terminal may have made it non-blocking for all of us; what is buffered is kept.
        try:
            os.set_blocking(self._stream.fileno(), True)
            self._stream.flush()
        except (OSError, ValueError):
            self._close()

    def _close(self) -> None:
        self.closed = True
        # What is still buffered would raise again when the interpreter flushes at its end.
        try:
            descriptor = self._stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
        except (OSError, ValueError):
            return
        try:
            os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)
