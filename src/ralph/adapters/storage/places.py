"""Paths in the record: relative to the project (the folder that holds ``.ralph``), so that it can be moved and copied."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ralph.errors import StoreError

STATE_FOLDER = ".ralph"
RUNS = "runs"
_IN_STATE = f"/{STATE_FOLDER}/"


def run_folder(state_folder: Path, run_id: str) -> Path:
    """Raises StoreError for a name that would lead elsewhere: a record may come from anywhere."""
    if run_id in ("", ".", "..") or "/" in run_id or "\0" in run_id:
        message = f"the record contains a run with an invalid name: {run_id!r}"
        raise StoreError(message, hint="It was left alone.")
    return state_folder / RUNS / run_id


def local_folder(project: Path) -> Path:
    """Where the small states of a project are."""
    return project / STATE_FOLDER / "state"


def recorded(path: Path, project: Path) -> str:
    """As the record keeps it; ``.`` is the project itself."""
    return os.path.relpath(path, project)


def located(path: str, project: Path) -> Path:
    """Where a recorded path is now.

    Earlier versions recorded absolute paths. One that no longer leads to a working tree of this record is what the
    project was called before it was moved, copied or restored.
    """
    if not path.startswith("/"):
        return Path(os.path.normpath(project / path))
    if Path(path) == project or _shares_record(Path(path), project):
        return Path(path)
    _, found, below = path.partition(_IN_STATE)
    return project / STATE_FOLDER / below if found else project


def is_same_folder(one: Path, other: Path) -> bool:
    """By whatever path or mount they are reached."""
    if one.absolute() == other.absolute():
        return True
    with suppress(OSError):
        return one.samefile(other)
    return False


def folder_id(folder: Path) -> str:
    """Of a folder on this machine, by whatever path or mount it is reached; a copy has another."""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def _shares_record(path: Path, project: Path) -> bool:
    """A working tree keeps no record of its own; another project does."""
    try:
        own = path / STATE_FOLDER / "ralph.db"
        return path.is_dir() and (not own.exists() or own.samefile(project / STATE_FOLDER / "ralph.db"))
    except OSError:
        return False
