"""The files that ralph's own output goes to: with `ralph plan run > plan.log`, the log is no change of the agent's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from stat import S_ISREG

from ralph.adapters.files import real_path
from ralph.domain.sandbox.own_git import NOT_OWN

DESCRIPTORS = (1, 2)

Identity = tuple[int, int]
"""Device and inode."""


def own_output(root: Path) -> frozenset[str]:
    """Their names as seen from ``root``, with slashes; those below it only."""
    top = real_path(root)
    return frozenset(
        path.relative_to(top).as_posix()
        for path, identity in _written_to().items()
        if path.is_relative_to(top) and _identity(path) == identity
    )


def not_own(root: Path) -> tuple[str, ...]:
    """Pathspecs, for a git that works in ``root``: everything but what ralph itself writes."""
    return (*NOT_OWN, *(f":(exclude,literal){name}" for name in sorted(own_output(root))))


@cache
def _written_to() -> Mapping[Path, Identity]:
    """Asked once, before any agent runs: later one could have moved the log to where its work belongs."""
    return dict(_found())


def _found() -> Iterator[tuple[Path, Identity]]:
    for descriptor in DESCRIPTORS:
        try:
            status = os.fstat(descriptor)
            path = _path_of(descriptor) if S_ISREG(status.st_mode) else None
        except OSError:  # closed
            continue
        if path is not None and _identity(path) == (status.st_dev, status.st_ino):
            yield path, (status.st_dev, status.st_ino)


def _path_of(descriptor: int) -> Path:
    """As the system knows it, without links. Raises OSError where it does not say."""
    import fcntl

    if (get_path := getattr(fcntl, "F_GETPATH", None)) is not None:  # macOS
        found: bytes = fcntl.fcntl(descriptor, get_path, bytes(1024))
        return Path(os.fsdecode(found.rstrip(b"\0")))
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def _identity(path: Path) -> Identity | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
