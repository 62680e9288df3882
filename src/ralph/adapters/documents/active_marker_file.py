"""Writing and removing ``.ralph-active``. Whoever does it holds the workspace: whatever an agent put in its place is moved away."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.documents.plan_files import Write, make_way, write_errors
from ralph.domain.plan.active_marker import MARKER_FILE, ActiveMarker


def write_marker(root: Path, marker: ActiveMarker, write: Write) -> None:
    path = root / MARKER_FILE
    with write_errors(path):
        if path.is_symlink() or path.is_dir():
            make_way(path)
        write(path, marker.text())


def remove_marker(root: Path) -> None:
    path = root / MARKER_FILE
    with write_errors(path):
        make_way(path)
