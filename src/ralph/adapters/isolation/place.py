"""One path that a sandboxed process sees, and how."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from ralph.adapters.files import real_path
from ralph.values import dataclass


class How(IntEnum):
    """If a path has two, the higher one wins."""

    HIDDEN = 0  #: an empty, private folder
    READABLE = 1
    WRITABLE = 2
    PROTECTED = 3  #: readable, inside something writable
    MASKED = 4  #: an empty file in its place
    CLOSED = 5  #: empty and read-only, but for the places in it
    BARRED = 6  #: does not exist, and cannot be created


@dataclass(frozen=True, slots=True)
class Place:
    """``source``: what is seen there, if it is something else."""

    path: Path
    how: How
    source: Path | None = None

    @property
    def real(self) -> Path:
        return self.source or self.path


def as_places(how: How, paths: Iterable[Path]) -> list[Place]:
    return [Place(path, how) for path in paths]


def deepest(path: Path, covers: Iterable[Place]) -> Place | None:
    """The place that shows ``path``; None: it is part of the read-only root."""
    over = [place for place in covers if is_in(path, place.path)]
    return max(over, key=lambda place: len(place.path.parts), default=None)


def is_in(path: Path, folder: Path) -> bool:
    # Asked a thousand times for each process: looking through Path.parents takes ten times as long.
    outer = folder.parts
    return path.parts[: len(outer)] == outer


def is_redirectable(path: Path, writable: Iterable[Path]) -> bool:
    """Whether anyone who may write to ``writable`` decides where ``path`` leads."""
    folders = {*writable}
    # Mostly there are no links on the way, and a look at the last step tells about all of them.
    is_straight = real_path(path.parent) == path.parent
    for step in (path,) if is_straight else (path, *path.parents):
        real = real_path(step.parent)
        if real in folders or not folders.isdisjoint(real.parents):
            return True
    return False
