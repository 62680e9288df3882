"""What has no business in git's own folder: an agent that may commit can put it there, and git outside would trip over it.

Git writes through a link (a commit's message, a log of a branch) to wherever it leads, waits for ever at a pipe, and
takes its configuration from where a ``commondir`` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters.isolation.git_places import GitFolders

_COMMON = "commondir"
_OBJECTS = "objects"


def git_traps(folders: GitFolders) -> list[Path]:
    """In the folders of one repository. Objects are read only by their hash, so only their folders are looked at."""
    found = [*_strange(folders.common, folders)]
    if folders.common not in folders.own.parents and folders.own != folders.common:
        found += _strange(folders.own, folders)
    return sorted(found)


def _strange(folder: Path, folders: GitFolders, *, depth: int = 0) -> Iterator[Path]:
    try:
        entries = [*os.scandir(folder)]
    except OSError:  # gone meanwhile
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            yield path
        elif entry.name == _COMMON and not _is_of_a_worktree(folder, folders):
            yield path
        elif entry.is_dir() and entry.name == _OBJECTS:
            yield from (Path(each.path) for each in os.scandir(path) if each.is_symlink())
        elif entry.is_dir():
            yield from _strange(path, folders, depth=depth + 1)


def _is_of_a_worktree(folder: Path, folders: GitFolders) -> bool:
    return folder == folders.own or folder.parent.name == "worktrees"
