"""Plays one cell and judges it from outside: exit status, words, files, processes and launches, the same for all."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from bench.faults.acts import ITERATIONS, Act, Interruption, Judgement, Promise
from bench.faults.harness import CannotRunError, Harness
from bench.faults.lies import OTHERS
from bench.faults.stage import Run, Stage, small_disk

PEAK_MEGABYTES = 400
"""Twice what the flood prints: more than that grows with it."""
GRACE_SECONDS = 20.0
"""That a harness has to tidy up after a signal."""
SECOND_PRESS_SECONDS = 5.0
LIMITED_LAUNCHES = 3
USERS_FILE = "users-note.md"


class Result(StrEnum):
    HOLDS = "holds"
    FAILS = "FAILS"
    NOT_CLAIMED = "not claimed"
    NOT_APPLICABLE = "does not apply"
    COULD_NOT_RUN = "could not run"


@dataclass(frozen=True)
class Cell:
    harness: str
    act: str
    promise: str
    result: Result
    evidence: str
    launches: int = 0
    exit: int | None = None
    seconds: float = 0.0
