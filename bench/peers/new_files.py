"""Waits until a new file costs what it usually does.

Some file systems (ext4 without a journal) look at every number of a file that was deleted in the last minutes before they give one to
a new file. Just after an installation that takes a millisecond, and whoever makes files in each iteration would pay for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from statistics import median

LONGEST = 400.0
"""Seconds. Such numbers are looked at for five minutes."""
PAUSE = 10.0
USUAL = 12.0
"""To make a file takes three to six times as long as to open it."""
TRIES = 15


def wait_for_new_files(folders: Collection[Path], *, longest: float = LONGEST) -> str:
    """What is to be said if they stay dear; empty if they do not."""
    gives_up = time.monotonic() + longest
    while (times := max(map(cost_of_new_file, folders))) > USUAL:
        if time.monotonic() + PAUSE > gives_up:
            return f"To make a file took {times:.0f} times as long as to open it; usual is 3 to 6. ralph makes three an iteration."
        time.sleep(PAUSE)
    return ""


def cost_of_new_file(folder: Path) -> float:
    """How many times that of opening it. The files stay there: to delete them is what makes new ones dear."""
    new: list[float] = []
    old: list[float] = []
    for _ in range(TRIES):
        file = folder / f"new-file-{time.monotonic_ns()}"
        for costs in (new, old):
            began = time.perf_counter()
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            costs.append(time.perf_counter() - began)
    return median(new) / median(old)
