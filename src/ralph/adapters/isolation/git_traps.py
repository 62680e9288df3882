"""What has no business in git's own folder: an agent that may commit can put it there, and git outside would trip over it.

Git writes through a link (a commit's message, the log of a branch) to wherever it leads, waits for ever at a pipe, and
takes its configuration from where a ``commondir`` says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ralph.adapters.isolation.git_places import git_folders
from ralph.errors import ConfigError

_OBJECTS = "objects"
# Read-only, or other tools' own: git itself writes nothing there.
_NOT_WRITTEN = frozenset({"hooks", "branches", "remotes", "lfs", "annex"})


class GitTraps:
    """Of the repository that ``workspace`` lies in. ``report`` is told what was taken away."""

    def __init__(self, workspace: Path, report: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._report = report

    def found(self) -> list[Path]:
        folders = git_folders(self._workspace)
        return [] if folders is None else sorted({*_traps(folders.common), *_traps(folders.own)})

    def require_none(self) -> None:
        """Before the agent begins: afterwards nobody could tell whose it is. Raises ConfigError."""
        if found := self.found():
            message = f"{found[0]} is not what git puts there: git would write or read wherever it leads"
            hint = "remove it if it is not yours; with links in git's own folder use --no-sandbox"
            raise ConfigError(message, hint=hint)

    def remove(self) -> None:
        for path in self.found():
            with contextlib.suppress(OSError):
                path.unlink()
                self._report(f"the agent had put {path} in git's way: it was removed")


def _traps(folder: Path) -> Iterator[Path]:
    """Objects are read by their hash only, so of them the folders are looked at and not the files."""
    try:
        entries = [*os.scandir(folder)]
    except OSError:  # gone meanwhile
        return
    is_repository = any(entry.name == _OBJECTS for entry in entries)
    for entry in entries:
        if is_repository and entry.name in _NOT_WRITTEN:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _links(entry.path) if entry.name == _OBJECTS else _traps(Path(entry.path))
        elif not entry.is_file(follow_symlinks=False) or (is_repository and entry.name == "commondir"):
            yield Path(entry.path)


def _links(objects: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(objects) if entry.is_symlink())
