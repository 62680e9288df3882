"""Chunks of bytes → whole lines, in one pass and in bounded memory."""

from __future__ import annotations

LONGEST_LINE = 64 * 1024 * 1024
"""A longer line is handed out in parts of this size, so that output without any newline cannot eat the memory."""


class LineFramer:
    """Feed chunks, get the lines they complete, without newline. Any chunking gives the same lines.

    A ``\\r`` before the newline belongs to it. The unfinished rest grows in one buffer that is never
    searched again, so a line of any length costs time in proportion to its length.
    """

    __slots__ = ("_longest", "_rest")

    def __init__(self, *, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        is_long = len(self._rest) + len(chunk) > self._longest
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if not lines:
            self._rest += tail
            return self._cut_rest() if is_long else []
        joined = bool(self._rest)
        if joined:
            self._rest += lines[0]
            lines[0] = bytes(self._rest)
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
        """What came after the last newline, as it is; empty if there was nothing."""
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
        # The last part stays: whether it is whole is only known when its newline comes.
        *parts, last = self._parts(bytes(self._rest), is_whole=False)
        self._rest = bytearray(last)
        return parts
