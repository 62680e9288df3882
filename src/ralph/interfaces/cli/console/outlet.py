"""Write to a stream that may go away, as when ``| head`` ends: the run continues."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TextIO, cast


class Outlet:
    """Writes and flushes. Once nobody reads any more it is ``closed`` and writes nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.closed = False

    @property
    def is_behind(self) -> bool:
        """What was written before is still waiting for its reader."""
        return bool(getattr(self._stream, "is_behind", False))

    def write(self, text: str, *, chatter: bool = False) -> None:
        """In the stream's encoding; what that cannot express is escaped. ``chatter``: left out first (``relay``)."""
        if text:
            self._try(lambda: self._write_text(text, chatter=chatter))

    def write_utf8(self, data: bytes, *, chatter: bool = False) -> None:
        """Whatever the stream's encoding: JSON is UTF-8."""
        self._try(lambda: self._write_bytes(data, chatter=chatter))

    def _write_text(self, text: str, *, chatter: bool) -> None:
        write = _writer(self._stream, chatter=chatter)
        try:
            write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _write_bytes(self, data: bytes, *, chatter: bool) -> None:
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:
            self._stream.write(data.decode())
        else:
            _writer(buffer, chatter=chatter)(data)

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
        # A child that shares the terminal may have made it non-blocking for everyone; buffered text is kept.
        try:
            os.set_blocking(self._stream.fileno(), True)
            self._stream.flush()
        except (OSError, ValueError):
            self._close()

    def _close(self) -> None:
        self.closed = True
        # What is still buffered would raise again when the interpreter exits.
        try:
            descriptor = self._stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
        except (OSError, ValueError):
            return
        try:
            os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)


def _writer(stream: Any, *, chatter: bool) -> Callable[[str | bytes], object]:
    write: Callable[[str | bytes], object] = getattr(
        stream, "write_chatter" if chatter else "write", stream.write
    )
    return write


class _Prefixed:
    def __init__(self, stream: TextIO, prefix: str) -> None:
        self._stream = stream
        self._prefix = prefix
        self._is_at_start = True

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def write(self, text: str) -> int:
        pieces: list[str] = []
        for line in text.splitlines(keepends=True):
            pieces.append(f"{self._prefix}{line}" if self._is_at_start else line)
            self._is_at_start = line.endswith("\n")
        self._stream.write("".join(pieces))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


def with_prefix(stream: TextIO, prefix: str) -> TextIO:
    """A stream whose lines all begin with ``prefix``, to tell several runs on one screen apart."""
    return cast(TextIO, _Prefixed(stream, prefix))
