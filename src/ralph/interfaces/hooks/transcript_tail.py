"""The end of a session's transcript, newest line first. It may be huge, and is never read whole."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_CHUNK = 65_536
MOST_READ = 4_194_304


class Transcript:
    """``size`` in bytes; 0 if there is no such file."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            status = os.stat(path) if path and "\0" not in path else None
        except OSError:
            status = None
        self.size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else 0

    def newest_lines(self) -> Iterator[bytes]:
        """Whole lines out of the last few megabytes, read as far back as they are asked for."""
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
