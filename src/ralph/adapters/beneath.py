"""Paths below a folder, walked part by part without following a link: an agent may have put one anywhere.

``top`` is what the user chose, however it is reached; below it a link is an error, and whatever is done is done in the
folders that were found, also if somebody swaps one meanwhile. Without ``top`` the path must have been resolved before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EACCES, ELOOP, ENOTDIR, EXDEV
from pathlib import Path
from typing import BinaryIO

from ralph.adapters import files

ROOT = Path("/")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
IN_PLACE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITABLE = 0o222
STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Where there is O_PATH, a folder that may be searched but not listed can be on the way."""


class LinkInTheWay(OSError):
    """A part of a path is a link where none may be followed."""

    def __init__(self, place: Path) -> None:
        super().__init__(ELOOP, f"{place} is a link, and ralph does not follow it", str(place))


# --- finding ---


def open_folder(path: Path, top: Path = ROOT, *, make: bool = False) -> int:
    """The descriptor of a folder, to work in; ``make``: with whatever is missing of it. Raises OSError."""
    descriptor = os.open(top, STEP & ~os.O_NOFOLLOW)
    try:
        parts = _parts(path, top)
        for number, part in enumerate(parts, 1):
            try:
                step = _step(descriptor, part, make=make)
            except OSError as error:
                raise _about(error, top.joinpath(*parts[:number]), descriptor) from None
            os.close(descriptor)
            descriptor = step
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _parts(path: Path, top: Path) -> tuple[str, ...]:
    above = top.parts if top.is_absolute() else top.absolute().parts
    whole = path.parts if path.is_absolute() else path.absolute().parts
    parts = whole[len(above) :]
    if whole[: len(above)] != above or ".." in parts:
        raise OSError(EXDEV, f"it is not in {top}", str(path))
    return parts


def _step(folder: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, STEP, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    mode = 0o777 if os.fstat(folder).st_mode & files.OTHERS else files.PRIVATE_FOLDER
    with suppress(FileExistsError):
        os.mkdir(part, mode, dir_fd=folder)
    return os.open(part, STEP, dir_fd=folder)


def _about(error: OSError, place: Path, folder: int | None = None) -> OSError:
    """The same error, with the whole path; one about a link in words."""
    is_link = error.errno == ENOTDIR and folder is not None and stat.S_ISLNK(mode_in(folder, place.name))
    if is_link or error.errno == ELOOP:
        return LinkInTheWay(place)
    error.filename = str(place)
    return error


def mode_in(folder: int, name: str) -> int:
    """0: it is not there, or cannot be seen."""
    with suppress(OSError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    return 0


@contextmanager
def parent_of(path: Path, top: Path = ROOT, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The descriptor of the folder that it lies in, and its name there. Raises OSError, with the path, in the block too."""
    if path.name in ("", ".."):
        raise OSError(EXDEV, f"it is not in {top}", str(path))
    descriptor = open_folder(path.parent, top, make=make)
    try:
        yield descriptor, path.name
    except OSError as error:
        raise _about(error, path) from None
    finally:
        os.close(descriptor)


# --- looking ---


def open_plain(path: Path, top: Path = ROOT) -> BinaryIO:
    """To read. Raises OSError for whatever is not a plain file."""
    with parent_of(path, top) as (folder, name):
        return files.open_plain(name, follow=False, folder=folder)


def read_plain(path: Path, most: int, top: Path = ROOT) -> bytes:
    """The first ``most`` bytes. Raises OSError."""
    with parent_of(path, top) as (folder, name):
        return files.read_plain(name, most, follow=False, folder=folder)


def read_whole(path: Path, most: int, top: Path = ROOT) -> bytes | None:
    """None if it is missing, behind a link, not plain, not readable, or larger than ``most`` bytes."""
    with suppress(OSError, ValueError), parent_of(path, top) as (folder, name):  # ValueError: a NUL in it
        return files.read_whole(name, most, follow=False, folder=folder)
    return None


def status(path: Path, top: Path = ROOT) -> os.stat_result | None:
    """Of what is there, a link included; None if nothing is. Raises OSError if that cannot be told."""
    try:
        with parent_of(path, top) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_link(path: Path, top: Path = ROOT) -> str:
    """Where a link leads; empty if it is none."""
    with suppress(OSError), parent_of(path, top) as (folder, name):
        return os.readlink(name, dir_fd=folder)
    return ""


def list_names(path: Path, top: Path = ROOT) -> list[str]:
    """Of what is in a folder. Raises OSError."""
    descriptor = open_folder(path, top)
    try:
        readable = os.open(".", READ, dir_fd=descriptor)
        try:
            return sorted(os.listdir(readable))  # noqa: PTH208 - of a descriptor
        finally:
            os.close(readable)
    finally:
        os.close(descriptor)


# --- changing ---


def write_atomic(path: Path, content: str | bytes, top: Path = ROOT, *, mode: int | None = None) -> None:
    """As ``files.write_atomic``. Raises OSError."""
    with parent_of(path, top) as (folder, name):
        files.write_in(folder, name, content, mode=mode)


def open_in_place(path: Path, top: Path = ROOT) -> BinaryIO:
    """To read, and to change single bytes of (``patch``). Raises OSError for whatever is not a plain file.

    What nobody may write is refused to root, too: somebody wants it to stay as it is.
    """
    with parent_of(path, top) as (folder, name):
        descriptor = os.open(name, IN_PLACE, dir_fd=folder)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise files.NotPlain
            if not mode & WRITABLE:
                raise PermissionError(EACCES, "it is read-only")
            return os.fdopen(descriptor, "r+b")
        except BaseException:
            os.close(descriptor)
            raise


def patch(file: BinaryIO, known: bytes, changes: Mapping[int, bytes]) -> bool:
    """Write single bytes where they are, and leave the rest of the file to whoever else writes it, now or later.

    ``known``: what it began with a moment ago; ``changes``: a byte by its place in that. False: it begins otherwise by now.
    """
    descriptor, after = file.fileno(), bytearray(known)
    if os.pread(descriptor, len(known), 0) != known:
        return False
    for place, byte in changes.items():
        # Asked again each time: whoever has just written all of it would find our byte in their words.
        if os.pread(descriptor, 1, place) != known[place : place + 1]:
            return False
        after[place] = byte[0]
        os.pwrite(descriptor, byte, place)
    os.fsync(descriptor)
    return os.pread(descriptor, len(known), 0) == after


def leads_to(path: Path, file: BinaryIO, top: Path = ROOT) -> bool:
    """Whether a path is the name of this very file, and not of another that has taken its place. Raises OSError."""
    found, own = status(path, top), os.fstat(file.fileno())
    return found is not None and (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def open_new(path: Path, top: Path = ROOT, *, mode: int = 0o666) -> BinaryIO:
    """To write a file that is not there yet, in folders that are made. Raises OSError."""
    with parent_of(path, top, make=True) as (folder, name):
        return os.fdopen(os.open(name, NEW, mode, dir_fd=folder), "wb")


def make_folder(path: Path, top: Path = ROOT) -> None:
    """With whatever is missing above it, for this user alone if ``top`` is. Raises OSError."""
    os.close(open_folder(path, top, make=True))


def remove(path: Path, top: Path = ROOT) -> None:
    """A file or a link, if it is there. Raises OSError."""
    with suppress(FileNotFoundError), parent_of(path, top) as (folder, name):
        os.unlink(name, dir_fd=folder)


def remove_folder(path: Path, top: Path = ROOT) -> None:
    """An empty one. Raises OSError."""
    with parent_of(path, top) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def make_link(link: Path, target: Path | str, top: Path = ROOT) -> None:
    """Raises OSError; FileExistsError for whatever is there."""
    with parent_of(link, top, make=True) as (folder, name):
        os.symlink(target, name, dir_fd=folder)
