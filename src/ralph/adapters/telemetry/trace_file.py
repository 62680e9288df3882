"""The trace that a run was started in, kept in its folder: whoever resumes it continues that one."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters import beneath
from ralph.domain.telemetry.identity import Place, parse_traceparent, traceparent

NAME = "traceparent"
MOST_BYTES = 200


def keep_place(folder: Path, place: Place) -> None:
    """Of a run that is a part of something else's trace."""
    beneath.write_atomic(folder / NAME, traceparent(place, place.parent_id) + "\n", folder)


def kept_place(folder: Path) -> Place | None:
    try:
        return parse_traceparent(beneath.read_plain(folder / NAME, MOST_BYTES, folder).decode("ascii"))
    except (OSError, ValueError):
        return None
