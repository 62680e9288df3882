"""What a shift prints: its newest lines for whoever watches, and the end of it all for the job's record."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.domain.text.safe_text import clean, clean_line

SHOWN_LINES = 100
SHOWN_CHARS = 16_000
LONGEST_LINE = 2_000
KEPT_LINES = 2_000
KEPT_CHARS = 200_000
"""Of one shift."""
_NAME = re.compile(r"console_(\d{1,9})\.log")


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

    def keep(self, run_folder: Path, turn: int, *, top: Path) -> None:
        """As a file of the run: records are packed with one for each shift, and the old ones never change. For want of it
        nothing fails."""
        first, lines = self.newest(lines=KEPT_LINES, chars=KEPT_CHARS)
        left_out = [f"({first} lines are left out)"] if first else []
        with suppress(OSError):
            text = "".join(f"{line}\n" for line in (*left_out, *lines))
            beneath.write_atomic(run_folder / f"console_{turn}.log", text, top)


def kept_consoles(runs: Path, *, top: Path) -> list[str]:
    """What all shifts printed, in order, line by line. ``runs``: the folder of all runs of a record."""
    folders = [runs / name for name in _names(runs, top)]
    files = [folder / name for folder in folders for name in _names(folder, top)]
    turns = sorted((int(found[1]), file) for file in files if (found := _NAME.fullmatch(file.name)))
    texts = [beneath.read_whole(file, 8 * KEPT_CHARS, top) or b"" for _, file in turns]
    return [line for text in texts for line in clean(text.decode(errors="replace")).splitlines()]


def _names(folder: Path, top: Path) -> list[str]:
    try:
        return beneath.list_names(folder, top)
    except OSError:  # a file, or a link
        return []
