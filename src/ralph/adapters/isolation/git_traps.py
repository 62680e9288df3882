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
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ConfigError

_MOST_TOLD = 5
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
            message = (
                f"{shown(found[0])} is not what git puts there: git would write or read wherever it leads"
            )
            hint = "remove it if it is not yours; with links in git's own folder use --no-sandbox"
            raise ConfigError(message, hint=hint)

    def remove(self) -> None:
        removed: list[Path] = []
        for path in self.found():
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
        for path in removed[:_MOST_TOLD]:
            self._report(f"the agent had put {shown(path)} in git's way: it was removed")
        if len(removed) > _MOST_TOLD:
            self._report(
                f"the agent had put {len(removed) - _MOST_TOLD} more files in git's way: they were removed"
            )


def shown(path: Path) -> str:
    """The agent chose its name."""
    return clean_line(str(path).encode(errors="surrogateescape").decode(errors="replace"))


def _traps(top: Path) -> Iterator[Path]:
    """Objects are read by their hash only, so of them the folders are looked at and not the files.

    Not by recursion: an agent could nest folders deeper than we can go.
    """
    waiting = [str(top)]
    while waiting:
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:  # gone meanwhile, or its path is longer than git could bear either
            continue
        is_repository = any(entry.name == _OBJECTS for entry in entries)
        for entry in entries:
            if is_repository and entry.name in _NOT_WRITTEN:
                continue
            if not entry.is_dir(follow_symlinks=False):
                if not entry.is_file(follow_symlinks=False) or (is_repository and entry.name == "commondir"):
                    yield Path(entry.path)
            elif entry.name == _OBJECTS:
                yield from _links(entry.path)
            else:
                waiting.append(entry.path)


def _links(objects: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(objects) if entry.is_symlink())
