"""A stream whose lines all begin with the same words: several runs on one screen can be told apart."""

from __future__ import annotations

from typing import TextIO, cast


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


def prefixed(stream: TextIO, prefix: str) -> TextIO:
    return cast(TextIO, _Prefixed(stream, prefix))
