"""The way to a path, part by part: whoever may change one place on it decides where the path leads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISLNK
from typing import NamedTuple

_MOST_LINKS = 40  # the kernel's own limit


class Step(NamedTuple):
    """``place`` is named without links before its last part. ``is_left``: the way goes on with ``..`` from here."""

    place: Path
    is_link: bool = False
    is_missing: bool = False
    is_left: bool = False


def way_to(path: Path) -> Iterator[Step]:
    """As the kernel goes it. The last step is the end, unless there are too many links."""
    here = Path(path.absolute().anchor)
    waiting = [*reversed(path.absolute().parts[1:])]
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            here = here.parent
            continue
        place = here / part
        try:
            is_link, is_missing = S_ISLNK(place.lstat().st_mode), False
        except (OSError, ValueError):  # closed to us, say: nobody knows what is there
            is_link, is_missing = False, True
        yield Step(place, is_link, is_missing, not is_link and waiting[-1:] == [".."])
        if not is_link:
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        target = Path(os.readlink(place))  # noqa: PTH115 - as it is written
        here = here / target.anchor  # the top, if it begins there
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
