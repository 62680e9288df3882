"""The projects that ralph has run in, for users who want that remembered: ``$XDG_STATE_HOME/ralph/projects.json``."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ralph.adapters.files import close_folder, make_private_folder, open_own, open_plain, write_atomic
from ralph.adapters.trust_store import store_folder

STORE = "projects.json"
LOCK = "projects.lock"
LARGEST = 4_000_000
MOST = 1_000
"""The oldest goes when there are more."""


def read_projects(environ: Mapping[str, str]) -> list[str]:
    """Their real paths, the oldest first. Empty if the list is missing, damaged, or could be somebody else's."""
    folder = store_folder(environ)
    try:
        with open_plain(f"{folder}/{STORE}", follow=False) as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return []
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return []
    listed = found.get("projects") if isinstance(found, dict) else None
    paths = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return [path for path in dict.fromkeys(paths) if path.startswith("/") and "\0" not in path]


def add_project(project: str, environ: Mapping[str, str]) -> None:
    """Whole or not at all, and one process at a time: two that begin together are both remembered. Raises OSError."""
    if project in read_projects(environ):  # nearly always: then nobody waits for anybody
        return
    place = store_folder(environ)
    if not place:
        raise OSError(0, "there is no home folder to remember it in")
    folder = Path(place)
    make_private_folder(folder)
    close_folder(folder)
    lock = open_own(folder / LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_projects(environ)
        if project not in known:
            if not known:  # what cannot be believed must not hand on its permissions
                (folder / STORE).unlink(missing_ok=True)
            kept = [*known, project][-MOST:]
            write_atomic(folder / STORE, json.dumps({"projects": kept}, indent=1))
    finally:
        os.close(lock)
