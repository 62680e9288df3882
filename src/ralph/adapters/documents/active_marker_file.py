"""Writing and removing ``.ralph-active``; a marker whose process is gone is a leftover."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ralph.adapters.documents.plan_files import Write, read_regular
from ralph.domain.active_marker import MARKER_FILE, ActiveMarker, active_marker_from

LARGEST = 20_000_000


def live_marker(root: Path) -> ActiveMarker | None:
    """The marker of a run that is under way; None: there is none, or its process is gone."""
    data = read_regular(root / MARKER_FILE, LARGEST)
    marker = active_marker_from(data.decode(errors="replace")) if data is not None else None
    return marker if marker is not None and _is_alive(marker.pid) else None


def write_marker(root: Path, marker: ActiveMarker, write: Write) -> None:
    write(root / MARKER_FILE, marker.text())


def remove_marker(root: Path, *, pid: int) -> None:
    """Ours, or a leftover; never that of another run under way."""
    live = live_marker(root)
    if live is None or live.pid == pid:
        with contextlib.suppress(OSError):
            (root / MARKER_FILE).unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # somebody else's, and alive
        return True
    except (OSError, OverflowError):
        return False
    return True
