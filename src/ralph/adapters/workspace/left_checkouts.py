"""Throw-away checkouts that are in use, and those that a kill left."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import PRIVATE_FOLDER, open_own, real_path, write_private

ASIDE = "1.aside"
"""Of a folder for checkouts: names one that is elsewhere."""
_PREFIX = "ralph-review-"
_LONGEST = 200


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
                if name == ASIDE:
                    remove_aside(folder)
                else:
                    trees.remove_tree(folder / name, runs)


def remove_tree(place: Path) -> None:
    """All of it, as far as it can be removed. Links are removed, not followed."""
    with suppress(OSError):
        trees.remove_tree(place, place.parent)


def name_aside() -> Path:
    """For a checkout that no file of a project lies above: agents obey what they find there, too."""
    return _temporary_folder() / f"{_PREFIX}{os.urandom(8).hex()}"


def _temporary_folder() -> Path:
    from tempfile import gettempdir

    return real_path(Path(gettempdir()))


def make_aside(place: Path, folder: Path) -> None:
    """Noted first, so that whoever comes after a kill finds it. Raises OSError, also if somebody else was there before."""
    remove_aside(folder)
    write_private(folder / ASIDE, place.name.encode())
    place.mkdir(mode=PRIVATE_FOLDER)


def remove_aside(folder: Path) -> None:
    """The one that is noted there: only its name is believed, for a session without a sandbox may have written it."""
    with suppress(OSError):
        noted = beneath.read_whole(folder / ASIDE, _LONGEST, folder)
        name = (noted or b"").decode(errors="replace")
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX).isalnum():
            remove_tree(_temporary_folder() / name)
        trees.remove_tree(folder / ASIDE, folder)
