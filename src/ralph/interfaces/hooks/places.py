"""Where the project of a session is: its marker, its state, its settings."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATE_FOLDER = ".ralph"


def upwards(start: str) -> Iterator[str]:
    folder = os.path.normpath(start)
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def nearest_with(start: str, name: str) -> str | None:
    """The nearest folder, from here upwards, that has an entry of this name."""
    return next((folder for folder in upwards(start) if os.path.lexists(os.path.join(folder, name))), None)


def project_of(start: str, environ: Mapping[str, str]) -> str:
    """As for ``ralph``: the nearest folder with ``.ralph/`` (the home folder's own is no project's), else the git top."""
    home = os.path.normpath(environ.get("HOME") or "/")
    for folder in upwards(start):
        if os.path.isdir(os.path.join(folder, STATE_FOLDER)) and (folder == start or folder != home):
            return folder
    return nearest_with(start, ".git") or start


def read_plain(path: str, limit: int) -> bytes | None:
    """A regular file's content; None if there is none or it is larger: nothing here may hang or fill the memory."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None
