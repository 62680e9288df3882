"""Small files, written so that a reader or a crash never sees half of one. Standard library only."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

IGNORED = "# written by ralph: what a run leaves here is one's own; the team's settings are shared\n*\n!.gitignore\n!settings.json\n"


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replace ``path`` with the content, durably, or leave it as it was."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # An agent may have put a link of that name there: what it leads to is not ours to write.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the new name durable, where the system lets a directory be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_state_folder(folder: Path) -> None:
    """``.ralph/`` with a .gitignore of its own; an existing one is the user's and stays."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, IGNORED)


def point_link(link: Path, target: Path) -> None:
    """Make ``link`` a relative symbolic link to ``target``; a plain file of that name is the user's and stays."""
    relative = os.path.relpath(target, link.parent)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(relative)
        return
    if link.is_symlink():
        link.unlink(missing_ok=True)
        link.symlink_to(relative)


def read_plain(path: Path, most: int) -> bytes:
    """At most so many bytes. Raises OSError if it cannot be read, or is a pipe or a device: one could wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a plain file")
        return file.read(most)
