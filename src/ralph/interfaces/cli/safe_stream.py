"""The last gate before a terminal: no character that reverses text or starts an escape sequence leaves ralph as such,
and what ralph says breaks between words.

Foreign text is cleaned where it is shown; this is for the text that nobody thought of. ``\\u202e`` is readable in words
and means the same character in JSON. Bytes pass as they are: whoever writes those means them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` would cost `ralph --help` more than its work does

if TYPE_CHECKING:
    from typing import Any, TextIO

LEAST_FOLDED = 20
"""Shorter text fits anywhere."""


class _SafeStream:
    def __init__(self, stream: TextIO, *, folds: bool) -> None:
        self._stream = stream
        self._folds = folds

    def write(self, text: str) -> int:
        if not text.isascii() or "\x1b" in text or "\x07" in text:
            from ralph.domain.text.safe_text import escape  # most output is plain

            text = escape(text)
        if self._folds and len(text) >= LEAST_FOLDED:
            from ralph.interfaces.cli.folding import fold
            from ralph.interfaces.cli.terminal import is_terminal, terminal_width

            if is_terminal(self._stream):
                text = fold(text, terminal_width(self._stream))
        return self._stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def make_safe(stream: TextIO, *, folds: bool = False) -> TextIO:
    """``folds``: it is for people; data is never broken into lines."""
    return stream if isinstance(stream, _SafeStream) else _SafeStream(stream, folds=folds)  # type: ignore[return-value]
