"""Throw-away checkouts that are in use, and those that a kill left."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.adapters.files import open_own


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """As long as it is locked, its checkouts are in use."""
    with open(open_own(lock), "ab") as file:  # noqa: PTH123 a descriptor
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def remove_left_checkouts(runs: Path) -> None:
    """Those of runs that were killed while they used one."""
    for place in runs.glob("*/proof/[0-9]*"):
        with suppress(OSError), open(open_own(place.parent / "lock"), "ab") as file:  # noqa: PTH123
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(place)


def remove_tree(place: Path) -> None:
    """All of it, also folders that a command closed. Links are removed, not followed."""
    shutil.rmtree(place, ignore_errors=True)
    if place.exists():
        with suppress(OSError):
            place.chmod(0o700)
            for folder, folders, _ in os.walk(place):
                for closed in (Path(folder, name) for name in folders):
                    if not closed.is_symlink():
                        closed.chmod(0o700)
        shutil.rmtree(place, ignore_errors=True)
