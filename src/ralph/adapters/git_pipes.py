"""Named pipes where git reads: it waits there for ever, for someone to write.

Git itself makes none, so no one misses one that is called as its files are. They are looked for when a git of ours has
taken longer than usual: that takes as long as git's own walk through all folders.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.git_folders import MARKER, git_folders
from ralph.errors import ConfigError
from ralph.patterns import pattern

_NAMES = frozenset({MARKER, ".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
_FOLDERS = ("info", "pack", "refs", "worktrees")
_OBJECT = pattern(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")


def release_pipes(root: Path) -> None:
    """Remove them, below ``root`` and in git's folders. Whoever waits at one finds it empty."""
    try:
        found = git_folders(root)
    except ConfigError:  # git does not go far there, either
        found = None
    tops = [root] if found is None else [root, found.own, found.common]
    for top in dict.fromkeys(tops):
        for pipe in _pipes(str(top)):
            with suppress(OSError):
                _release(Path(pipe), top)


def _pipes(top: str) -> Iterator[str]:
    """And what else is no plain file."""
    waiting = [(top, MARKER in Path(top).parts)]
    while waiting:
        folder, is_gits = waiting.pop()
        with suppress(OSError):  # deleted meanwhile, or closed to git as well
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, is_gits or entry.name in (MARKER, *_FOLDERS)))
                elif not entry.is_file(follow_symlinks=False) and (
                    is_gits or entry.name in _NAMES or _OBJECT.fullmatch(entry.name)
                ):
                    yield entry.path


def _release(pipe: Path, top: Path) -> None:
    """If it is one. Opened to write, which wakes those who wait, before its name goes."""
    with beneath.parent_of(pipe, top) as (folder, name):
        descriptor = os.open(name, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(descriptor)
