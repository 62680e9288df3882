"""One path that a sandboxed process sees, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path


class How(IntEnum):
    """If a path has two, the higher one wins."""

    HIDDEN = 0  #: an empty, private folder
    READABLE = 1
    WRITABLE = 2
    PROTECTED = 3  #: readable, inside something writable
    MASKED = 4  #: an empty file in its place
    BARRED = 5  #: does not exist, and cannot be created


@dataclass(frozen=True, slots=True)
class Place:
    path: Path
    how: How


def as_places(how: How, paths: Iterable[Path]) -> list[Place]:
    return [Place(path, how) for path in paths]


def how_of(path: Path, covers: Iterable[Place]) -> How | None:
    """How the deepest place over ``path`` shows it; None: it is part of the read-only root."""
    over = [place for place in covers if is_in(path, place.path)]
    return max(over, key=lambda place: len(place.path.parts)).how if over else None


def is_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
