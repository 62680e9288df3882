"""Files that others may touch: read without falling into a trap, written so that nobody ever sees half of one.

The only module that does either. It imports little of the standard library, and nothing else: the hooks use it.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # importing `typing` and `pathlib` would cost a hook more than its work does
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

IGNORED = "# written by ralph: runs are private, the team's settings are shared\n*\n!settings.json\n"


PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
OTHERS = 0o077
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class NotPlain(OSError):
    """A pipe or a device, which might never end."""

    def __init__(self) -> None:
        super().__init__(0, "it is not a plain file")


def write_atomic(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """Replace ``path`` with the content, durably, or leave it as it was.

    It keeps its permissions. ``mode``: those of a new file, before the umask; None: nobody else's, if its folder is
    nobody else's.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        write_in(folder, path.name, content, mode=mode)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(folder)


def write_in(folder: int, name: str, content: str | bytes, *, mode: int | None = None) -> None:
    """The same, in an open folder. An agent may have put links in it: their targets are not ours to write."""
    from contextlib import suppress

    data = content.encode() if isinstance(content, str) else content
    kept = _permissions_of(folder, name)
    if mode is None:
        mode = 0o666 if os.fstat(folder).st_mode & OTHERS else PRIVATE_FILE
    temporary = f".{name}.{os.getpid()}.tmp"
    try:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode if kept is None else PRIVATE_FILE, dir_fd=folder)
        with open(descriptor, "wb") as file:  # noqa: PTH123 a descriptor
            if kept is not None:
                os.fchmod(descriptor, kept)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    sync_folder(folder)


def _permissions_of(folder: int, name: str) -> int | None:
    """None: there is no such file. What we write can be read again, whatever an agent made of it."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return None
    return mode & 0o777 | PRIVATE_FILE if stat.S_ISREG(mode) else None


def write_private(path: Path, content: bytes) -> None:
    """Into a file for this user alone, whatever the umask; what was in it is lost. Raises OSError for a link."""
    _write_to(os.open(path, _WRITE | os.O_TRUNC, PRIVATE_FILE), content)


def write_new(path: Path, content: bytes) -> None:
    """The same, but raises FileExistsError for whatever is there, a link too."""
    _write_to(os.open(path, _WRITE | os.O_EXCL, PRIVATE_FILE), content)


def _write_to(descriptor: int, content: bytes) -> None:
    try:
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """However many calls the system needs for it. Raises OSError."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def is_true(look: Callable[[], bool]) -> bool:
    """The answer of ``path.exists`` and the like; what lies in a folder that may not be searched is not there.

    Not for what must be protected: an agent could close a folder to hide it from us.
    """
    try:
        return look()
    except OSError:
        return False


def real_path(path: Path) -> Path:
    """Where it leads. ``Path.resolve`` raises RuntimeError for a circle of links, which an agent may have made."""
    return type(path)(os.path.realpath(path))


def expand_home(path: str, environ: Mapping[str, str] = os.environ) -> str:
    """With the home folder for ``~``, and another user's for ``~name``, as shells and git do."""
    if path == "~" or path.startswith("~/"):
        return (environ.get("HOME") or "/nonexistent") + path[1:]
    try:
        return os.path.expanduser(path)  # noqa: PTH111
    except ValueError:  # a NUL in it
        return path


def sync_folder(folder: int) -> None:
    """Make the new name durable, where a directory can be opened."""
    from contextlib import suppress

    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_state_folder(folder: Path) -> None:
    """Make ``.ralph/`` with a .gitignore, or use the one that is there. Records are for this user alone.

    One without a record gets our seal.
    """
    from ralph.adapters.trust_store import seal_unless_used

    folder.parent.mkdir(parents=True, exist_ok=True)
    make_private_folder(folder)
    close_folder(folder)
    seal_unless_used(str(folder))
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, IGNORED)


def make_private_folder(folder: Path) -> None:
    """Make it, and whatever is missing above it, for this user alone, whatever the umask; one that is there stays."""
    try:
        os.mkdir(folder, PRIVATE_FOLDER)  # noqa: PTH102 with its parents, pathlib would make those for everybody
    except FileNotFoundError:
        make_private_folder(folder.parent)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise


def close_folder(folder: Path) -> None:
    """Take others' permissions away, which an earlier version left open. One of another user is theirs."""
    from contextlib import suppress

    with suppress(OSError):
        descriptor = open_folder(folder)
        try:
            found = os.fstat(descriptor)
            if found.st_mode & OTHERS and found.st_uid == os.geteuid():
                os.fchmod(descriptor, found.st_mode & PRIVATE_FOLDER)
        finally:
            os.close(descriptor)


def open_plain(path: Path | str, *, follow: bool = True, folder: int | None = None) -> BinaryIO:
    """Open a plain file to read. Raises OSError for a pipe or a device, which might never end, as for any other error.

    Not ``follow``: a link is refused, too. ``folder``: the descriptor of the folder that it must lie in.
    """
    return os.fdopen(_open_plain(path, follow=follow, folder=folder)[0], "rb")


def _open_plain(path: Path | str, *, follow: bool, folder: int | None) -> tuple[int, int]:
    """The descriptor, and how many bytes are in the file."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=folder)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(0, "it is a folder")
        raise NotPlain
    return descriptor, found.st_size


def read_plain(path: Path | str, most: int, *, follow: bool = True, folder: int | None = None) -> bytes:
    """The first ``most`` bytes. Raises OSError as ``open_plain`` does."""
    descriptor, size = _open_plain(path, follow=follow, folder=folder)
    try:
        return _read_file(descriptor, size, most)
    finally:
        os.close(descriptor)


def read_whole(
    path: Path | str, most: int, *, follow: bool = True, folder: int | None = None
) -> bytes | None:
    """All of a plain file; None if it is missing, not plain, not readable, or larger than ``most`` bytes."""
    try:
        descriptor, size = _open_plain(path, follow=follow, folder=folder)
        try:
            if size > most:
                return None
            data = _read_file(descriptor, size, most + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):  # a name with a NUL is a ValueError
        return None
    return data if len(data) <= most else None


def _read_file(descriptor: int, size: int, most: int) -> bytes:
    """The first ``most`` bytes of a file that had ``size`` when it was opened. Raises OSError."""
    # Room for ``most`` would take longer than most files to read.
    data = _read(descriptor, min(size + 1, most))
    if len(data) > size:  # it has grown
        data += _read(descriptor, most - len(data))
    return data


def _read(descriptor: int, most: int) -> bytes:
    """However many calls the system needs for it. Raises OSError."""
    data = os.read(descriptor, most)
    while len(data) < most and (block := os.read(descriptor, most - len(data))):
        data += block
    return data


def open_own(path: Path | str, mode: int = PRIVATE_FILE) -> int:
    """The descriptor of a plain file to lock or to write in place, made if it is missing. Raises OSError.

    An agent may have put a link or a pipe of that name there: neither is followed, and nothing waits for a reader.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.open(path, flags, mode)


def open_folder(path: Path | str) -> int:
    """A folder's descriptor, not through a link: what uses it works in that very folder. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
