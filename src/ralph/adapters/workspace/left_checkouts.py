"""Throw-away checkouts that are in use, and those that a kill left."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import open_own


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """As long as it is locked, its checkouts are in use."""
    with open(open_own(lock), "ab") as file:  # noqa: PTH123 a descriptor
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def remove_left_checkouts(runs: Path) -> None:
    """Those of runs that were killed while they used one."""
    with suppress(OSError):
        for run in beneath.list_names(runs, runs):
            _remove_left(runs / run / "proof", runs)


def _remove_left(folder: Path, runs: Path) -> None:
    with suppress(OSError):
        left = [name for name in beneath.list_names(folder, runs) if name[0].isdigit()]
        if not left:
            return
        with open(open_own(folder / "lock"), "ab") as file:  # noqa: PTH123 a descriptor
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in left:
                trees.remove_tree(folder / name, runs)


def remove_tree(place: Path) -> None:
    """All of it, as far as it can be removed. Links are removed, not followed."""
    with suppress(OSError):
        trees.remove_tree(place, place.parent)
