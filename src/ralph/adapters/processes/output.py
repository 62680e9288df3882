"""Where the output of one process goes: redacted first, then into its log, then to who listens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ralph.adapters.processes.lines import LineFramer
from ralph.adapters.processes.redaction import Redactor
from ralph.errors import StoreError


class LogFile:
    """Raw bytes in the order they came, unbuffered: a log is read while it is written.

    The file is emptied when it is opened; opened with the first block unless ``open`` was called before.
    """

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def open(self) -> None:
        flags = os.O_WRONLY | os.O_CLOEXEC
        try:
            if self._path.is_symlink() or not self._path.is_char_device():
                # What stands there may be an agent's trap: a link to somebody's file, a pipe that nobody reads.
                self._path.unlink(missing_ok=True)
                flags |= os.O_CREAT | os.O_EXCL
            self._descriptor = os.open(self._path, flags, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, block: bytes) -> None:
        if self._descriptor is None:
            self.open()
        assert self._descriptor is not None
        rest = memoryview(block)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
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
    """One stream's way: redaction, log, then lines or chunks to their listener."""

    __slots__ = ("_framer", "_log", "_on_chunk", "_on_lines", "_redacted")

    def __init__(
        self,
        redactor: Redactor,
        *,
        log: LogFile | None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_chunk: Callable[[bytes], None] | None = None,
    ) -> None:
        self._redacted = redactor.stream()
        self._log = log
        self._on_lines = on_lines
        self._on_chunk = on_chunk
        self._framer = LineFramer()

    def feed(self, chunk: bytes) -> None:
        self._deliver(self._redacted.feed(chunk))

    def finish(self) -> None:
        """The stream is over: what was held back, and a last line without newline."""
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
        if self._on_lines is not None:
            lines = self._framer.feed(block)
            if lines:
                self._on_lines(lines)
