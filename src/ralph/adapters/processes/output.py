"""The way of one process's output: redacted, then logged, then as lines or chunks to the listener."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

from ralph.adapters.files import PRIVATE_FILE, write_all
from ralph.adapters.processes.redaction import Redactor
from ralph.errors import StoreError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
LONGEST_LINE = 64 * 1024 * 1024
"""A longer line comes in parts of this size: output without newlines must not fill the memory."""

_COPIED = 1024 * 1024
_SHORT_LINE = 1024


class LineFramer:
    """Turns chunks into the lines they complete, without newline; how the output is cut into chunks does not matter.

    A ``\\r`` before the newline belongs to it. The unfinished rest grows in a buffer that is never searched again: a
    line of any length costs time in proportion to its length.
    """

    __slots__ = ("_longest", "_rest")

    def __init__(self, *, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        is_long = len(self._rest) + len(chunk) > self._longest
        lines = _split(chunk)
        tail = lines.pop()
        if not lines:
            self._rest += tail
            return self._cut_rest() if is_long else []
        joined = bool(self._rest)
        if joined:
            self._rest += lines[0]
            # A line of many megabytes is not copied once more: what reads lines takes a bytearray as well.
            lines[0] = bytes(self._rest) if len(self._rest) < _COPIED else cast(bytes, self._rest)
            self._rest = bytearray()
        if is_long:
            lines = [part for line in lines for part in self._parts(line, is_whole=True)]
        elif b"\r" in chunk:
            lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        elif joined and lines[0].endswith(b"\r"):  # the chunk before ended between "\r" and "\n"
            lines[0] = lines[0][:-1]
        if tail:
            self._rest += tail
            if is_long:
                lines += self._cut_rest()
        return lines

    def finish(self) -> bytes:
        """What came after the last newline."""
        rest = bytes(self._rest)
        self._rest = bytearray()
        return rest

    def _parts(self, line: bytes, *, is_whole: bool) -> list[bytes]:
        size = self._longest
        parts = [line[start : start + size] for start in range(0, len(line), size)] or [line]
        if is_whole:
            parts[-1] = parts[-1].removesuffix(b"\r")
        return parts

    def _cut_rest(self) -> list[bytes]:
        if len(self._rest) <= self._longest:
            return []
        # The last part stays: only its newline will tell whether it is whole.
        *parts, last = self._parts(bytes(self._rest), is_whole=False)
        self._rest = bytearray(last)
        return parts


def _split(chunk: bytes) -> list[bytes]:
    """At newlines. ``split`` looks at each byte by itself, and ``find`` at many at once: the longer the lines, the better."""
    end = chunk.find(b"\n")
    if 0 <= end < _SHORT_LINE:
        return chunk.split(b"\n")
    lines: list[bytes] = []
    start = 0
    while end >= 0:
        lines.append(chunk[start:end])
        start = end + 1
        end = chunk.find(b"\n", start)
    lines.append(chunk[start:] if start else chunk)
    return lines


class LogFile:
    """Raw bytes in the order they came, unbuffered: a log is read while it is written.

    Opening empties the file; the first block opens it unless ``open`` was called before.
    """

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def open(self) -> None:
        try:
            try:
                self._descriptor = os.open(self._path, _NEW, PRIVATE_FILE)
            except FileExistsError:
                self._descriptor = self._open_again()
        except OSError as error:
            raise self._unwritable(error) from error

    def _open_again(self) -> int:
        if self._path.is_char_device() and not self._path.is_symlink():
            return os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        # An agent may have set a trap: a link to another file, a pipe that nobody reads.
        self._path.unlink(missing_ok=True)
        return os.open(self._path, _NEW, PRIVATE_FILE)

    def write(self, block: bytes) -> None:
        if self._descriptor is None:
            self.open()
        assert self._descriptor is not None
        try:
            write_all(self._descriptor, block)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write the log {self._path}: {error.strerror}",
            hint="free some space or make the directory writable, then resume the run",
        )


class Sink:
    """Redacts and logs one stream, then passes it on as lines or chunks. Without a redactor it is passed on as it is."""

    __slots__ = ("_framer", "_log", "_on_chunk", "_on_lines", "_redacted")

    def __init__(
        self,
        redactor: Redactor | None,
        *,
        log: LogFile | None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_chunk: Callable[[bytes], None] | None = None,
    ) -> None:
        self._redacted = redactor.stream() if redactor is not None else None
        self._log = log
        self._on_lines = on_lines
        self._on_chunk = on_chunk
        self._framer = LineFramer()

    def feed(self, chunk: bytes) -> None:
        self._deliver(self._redacted.feed(chunk) if self._redacted is not None else chunk)

    def finish(self) -> None:
        """The stream is over: pass on what was held back, and a last line without newline."""
        if self._redacted is not None:
            self._deliver(self._redacted.finish())
        rest = self._framer.finish()
        if rest and self._on_lines is not None:
            self._on_lines([rest])

    def close(self) -> None:
        if self._log is not None:
            self._log.close()

    def _deliver(self, block: bytes) -> None:
        if not block:
            return
        if self._log is not None:
            self._log.write(block)
        if self._on_chunk is not None:
            self._on_chunk(block)
        if self._on_lines is not None and (lines := self._framer.feed(block)):
            self._on_lines(lines)
