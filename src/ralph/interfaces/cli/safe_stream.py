"""The last gate before a terminal: no character that reverses text or starts an escape sequence leaves ralph as such.

Foreign text is cleaned where it is shown; this is for the text that nobody thought of. ``\\u202e`` is readable in words
and means the same character in JSON. Bytes pass as they are: whoever writes those means them.
"""

from __future__ import annotations

from typing import Any, TextIO, cast


class _SafeStream:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not text.isascii() or "\x1b" in text or "\x07" in text:
            from ralph.domain.text.safe_text import escape  # most output is plain

            text = escape(text)
        return self._stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def make_safe(stream: TextIO) -> TextIO:
    return stream if isinstance(stream, _SafeStream) else cast(TextIO, _SafeStream(stream))
