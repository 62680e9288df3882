"""Sockets of this machine's services that a sandboxed process would see: read access is enough to connect.

What cannot be examined is not there for a process inside either: it has our user's rights and no capabilities.
Not found: a socket that was moved after its service opened it, that another container opened, or that appears later.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ralph.adapters.files import real_path
from ralph.adapters.isolation.place import How, Place, deepest, is_in

_TABLE = Path("/proc/net/unix")
_VISIBLE = frozenset({How.READABLE, How.WRITABLE, How.PROTECTED})


def host_sockets(visible: Iterable[Place], workspace: Path) -> Iterator[Path]:
    """Where they are seen. Those that processes inside opened are not among them: they have a network of their own."""
    covers = list(visible)
    for path in sorted(_open_sockets(workspace)):
        if deepest(path, covers) is None:
            yield path
        for place in covers:
            if place.how in _VISIBLE and is_in(path, place.real):
                seen = place.path / path.relative_to(place.real)
                if deepest(seen, covers) == place:
                    yield seen


def _open_sockets(workspace: Path) -> set[Path]:
    names = _names()
    candidates = {Path(name) for name in names if name.startswith("/")}
    if from_somewhere := {name for name in names if not name.startswith("/")}:
        # A service may name its socket from where it was started.
        folders = {workspace, *_working_folders()}
        candidates |= {folder / name for folder in folders for name in from_somewhere}
    found: set[Path] = set()
    for candidate in candidates:
        with suppress(OSError, RuntimeError, ValueError):  # it cannot be examined, or is a circle of links
            path = real_path(candidate)
            if stat.S_ISSOCK(path.stat().st_mode) and _can_be_reached(path):
                found.add(path)
    return found


def _names() -> set[str]:
    """Abstract ones, which are not files, begin with ``@``."""
    try:
        lines = _TABLE.read_bytes().split(b"\n")[1:]
    except OSError:
        return set()
    names = {os.fsdecode(fields[7]) for line in lines if len(fields := line.split(None, 7)) == 8}
    return {name for name in names if not name.startswith("@")}


def _working_folders() -> set[Path]:
    """Of the processes that we may look at."""
    found: set[Path] = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                found.add(Path(os.readlink(f"{entry.path}/cwd")))  # noqa: PTH115 there may be thousands
    return found


def _can_be_reached(path: Path) -> bool:
    """From inside, where root may not search the private folders of others. Nothing could be mounted there either."""
    if os.geteuid() != 0:
        return True
    for folder in path.parents:
        found = folder.stat()
        right = stat.S_IXUSR if not found.st_uid else stat.S_IXGRP if not found.st_gid else stat.S_IXOTH
        if not found.st_mode & right:
            return False
    return True
