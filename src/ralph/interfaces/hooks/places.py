"""Where a session's project is."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH112, PTH118, PTH120

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATE_FOLDER = ".ralph"
MARKER = ".ralph-active"
"""As in domain/plan/active_marker, which a mere look need not import."""


def upwards(start: str) -> Iterator[str]:
    folder, above = os.path.normpath(start), ""
    while folder != above:
        yield folder
        folder, above = os.path.dirname(folder), folder


def nearest_with(start: str, name: str) -> str | None:
    """The nearest folder, from here upwards, that has an entry of this name."""
    return next((folder for folder in upwards(start) if os.path.lexists(os.path.join(folder, name))), None)


def project_of(start: str, environ: Mapping[str, str]) -> str:
    """As ``ralph`` does: the nearest folder with ``.ralph/`` (the one in the home folder is no project), else the git top."""
    home = os.path.normpath(environ.get("HOME") or "/")
    for folder in upwards(start):
        if os.path.isdir(os.path.join(folder, STATE_FOLDER)) and (folder == start or folder != home):
            return folder
    return nearest_with(start, ".git") or start
