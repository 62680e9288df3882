"""What a shift prints: its newest lines for whoever watches, and the end of it all for the job's record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ralph.domain.text.safe_text import clean_line

SHOWN_LINES = 100
SHOWN_CHARS = 16_000
LONGEST_LINE = 2_000
KEPT_LINES = 2_000
KEPT_CHARS = 200_000
"""Of one shift."""


class ShiftConsole:
    """Lines are counted from 0 in each shift."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._count = 0

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._lines.append(clean_line(line[: 4 * LONGEST_LINE].decode(errors="replace"))[:LONGEST_LINE])
            self._count += 1

    def newest(self, *, lines: int = SHOWN_LINES, chars: int = SHOWN_CHARS) -> tuple[int, tuple[str, ...]]:
        """The number of the first, and the lines."""
        found: list[str] = []
        for line in reversed(self._lines):
            chars -= len(line) + 1
            if chars < 0 or len(found) == lines:
                break
            found.append(line)
        return self._count - len(found), tuple(reversed(found))

    def kept(self) -> tuple[str, ...]:
        """For the record."""
        first, lines = self.newest(lines=KEPT_LINES, chars=KEPT_CHARS)
        return (f"({first} lines are left out)", *lines) if first else lines
