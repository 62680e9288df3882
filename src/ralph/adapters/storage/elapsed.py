"""How long a run has taken, written down every second: a run that is killed in a long silence has still taken that time.

A figure by a clock that nobody sets, not a time of day: setting the clock must neither use up a limit nor extend it.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import open_own

NAME = "elapsed"
DIGITS = 24


class Elapsed:
    """A small file in the run's folder."""

    def __init__(self, run_folder: Path) -> None:
        self._path = run_folder / NAME

    def read(self) -> float | None:
        """Seconds; None if an earlier version ran it, or the file cannot be believed."""
        try:
            seconds = float(beneath.read_plain(self._path, DIGITS + 1, self._path.parent))
        except (OSError, ValueError):
            return None
        return seconds if math.isfinite(seconds) and seconds >= 0 else None

    def write(self, seconds: float) -> None:
        """Always of the same length, so a reader never sees half of it. Never fails: the record has most of it."""
        with suppress(OSError):
            file = open_own(self._path)
            try:
                os.write(file, f"{seconds:0{DIGITS}.3f}\n".encode())
            finally:
                os.close(file)
