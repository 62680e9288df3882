"""The way to a path, part by part: whoever may change one place on it decides where the path leads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from errno import EINVAL
from typing import NamedTuple

_MOST_LINKS = 40  # the kernel's own limit


class Step(NamedTuple):
    """``place``: without links, except that it may be one itself. ``is_left``: the next part is ``..``."""

    place: str
    is_link: bool = False
    is_missing: bool = False
    is_left: bool = False


def way_to(path: str) -> Iterator[Step]:
    """As the kernel goes to an absolute path. The last step is the end, unless there are too many links.

    Texts, because this is asked several times for every program.
    """
    at, links = "/", 0
    waiting = _parts(path)
    while waiting:
        part = waiting.pop()
        if part == "..":
            at = os.path.dirname(at)  # noqa: PTH120
            continue
        before, at = at, f"{at.rstrip('/')}/{part}"
        try:
            target = os.readlink(at)  # noqa: PTH115
        except (OSError, ValueError) as error:  # ValueError: a NUL in it
            is_there = isinstance(error, OSError) and error.errno == EINVAL  # and no link
            yield Step(at, is_missing=not is_there, is_left=waiting[-1:] == [".."])
            continue
        yield Step(at, is_link=True)
        links += 1
        if links > _MOST_LINKS:
            return
        waiting += _parts(target)
        at = "/" if target.startswith("/") else before


def _parts(path: str) -> list[str]:
    """The last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
