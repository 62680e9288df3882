"""Where a session's project is, by the same rule as for ``ralph`` itself."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ralph.config.project_search import (
    STATE_FOLDER,
    climb,
    own_settings,
    record_place,
    search,
    stranger_in,
    trusted_owners,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MARKER", "STATE_FOLDER", "nearest_with", "own_settings", "project_of", "settings_of"]

MARKER = ".ralph-active"
"""As in domain/plan/active_marker, which a mere look need not import."""


def nearest_with(start: str, name: str, environ: Mapping[str, str]) -> str | None:
    """The nearest folder of the project, from here upwards, that has an entry of this name; another user's does not count."""
    owners = trusted_owners(environ)
    for folder in climb(os.path.realpath(start), _home(environ)):
        try:
            owner = os.lstat(os.path.join(folder, name)).st_uid
        except (OSError, ValueError):
            continue
        if owner in owners:
            return folder
    return None


def project_of(start: str, environ: Mapping[str, str]) -> str | None:
    """As ``ralph`` finds it; None if another user owns it, for then nothing in it is obeyed."""
    project = search(os.path.realpath(start), _home(environ))
    return None if stranger_in(project, environ) else project


def settings_of(start: str, environ: Mapping[str, str]) -> str | None:
    """The folder whose ``.ralph`` holds the settings for what runs here, and by which the user trusts them.

    None if another user could have written them.
    """
    project = project_of(start, environ)
    place = record_place(project) if project is not None else None
    return None if place is None or stranger_in(place, environ) else place


def _home(environ: Mapping[str, str]) -> str:
    return os.path.realpath(environ.get("HOME") or "/")
