"""A session's transcript, newest line first. It may be huge, and is never read whole."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ralph.interfaces.hooks.protocol import HookEvent

FIRST_CHUNK = 65_536
MOST_READ = 4_194_304


class Transcript:
    """``size`` in bytes; 0 if there is no such file."""

    def __init__(self, event: HookEvent) -> None:
        self._path = path = event.text("transcript_path")
        try:
            status = os.stat(path) if path and "\0" not in path else None
        except OSError:
            status = None
        self.size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else 0

    def newest_lines(self) -> Iterator[bytes]:
        """Whole lines from the last few megabytes, read only as far back as the caller asks."""
        if not self.size:
            return
        with open(self._path, "rb") as file:
            end, chunk, rest = self.size, FIRST_CHUNK, b""
            while end > 0 and self.size - end < MOST_READ:
                start = max(0, end - chunk)
                file.seek(start)
                first, *whole = (file.read(end - start) + rest).split(b"\n")
                yield from reversed(whole)
                end, chunk, rest = start, chunk * 2, first  # the beginning of that line is further up
            if end == 0:
                yield rest


def last_words(event: HookEvent) -> str:
    """What the assistant said last; older versions of Claude Code leave it to the transcript."""
    if "last_assistant_message" in event.fields:
        return event.text("last_assistant_message")
    return next(filter(None, map(_assistant_text, Transcript(event).newest_lines())), "")


def _assistant_text(line: bytes) -> str:
    import json

    try:
        entry = json.loads(line) if b'"assistant"' in line else None
    except (ValueError, RecursionError):
        return ""
    if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain") is True:
        return ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
