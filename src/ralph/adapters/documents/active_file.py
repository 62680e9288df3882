"""``.ralph-active``: tells the hooks inside a session which plan is being worked on, and how (seed 004)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ralph.domain.active_marker import MARKER_FILE, ActiveMarker, active_marker_from
from ralph.errors import StoreError

LARGEST = 1_000_000


class ActiveFile:
    """Written by the run that holds the workspace, so one that is there already was left by a run that is gone."""

    def __init__(self, root: Path, write: Callable[[Path, str], None]) -> None:
        self._path = root / MARKER_FILE
        self._write = write

    def put(self, marker: ActiveMarker) -> None:
        try:
            if self._path.is_symlink() or self._path.is_dir():
                self._clear()
            self._write(self._path, marker.text())
        except OSError as error:
            message = f"cannot write {self._path}: {error.strerror or error}"
            raise StoreError(
                message, hint="the hooks of a session need it; make the folder writable"
            ) from error

    def left_by(self) -> int | None:
        """The process that an earlier marker names; None if there is none, or it makes no sense."""
        try:
            if not self._path.is_file() or self._path.stat().st_size > LARGEST:
                return None
            marker = active_marker_from(self._path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None
        return marker.pid if marker is not None else None

    def remove(self) -> None:
        """Only our own: another run may have begun meanwhile."""
        if self.left_by() in (None, os.getpid()):
            self._clear()

    def _clear(self) -> None:
        if self._path.is_dir() and not self._path.is_symlink():
            number = 1
            while (other := self._path.with_name(f"{MARKER_FILE}.displaced-{number}")).exists():
                number += 1
            self._path.rename(other)
        else:
            self._path.unlink(missing_ok=True)
