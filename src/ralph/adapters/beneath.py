"""Paths below a folder, walked part by part without following a link: an agent may have put one anywhere.

``top`` is what the user chose, however it is reached; below it a link is an error, and whatever is done is done in the
folders that were found, also if somebody swaps one meanwhile. Without ``top`` the path must have been resolved before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EISDIR, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EXDEV
from pathlib import Path
from typing import BinaryIO

from ralph.adapters import files

ROOT = Path("/")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Where there is O_PATH, a folder that may be searched but not listed can be on the way."""
CHUNK = 1_000_000


class LinkInTheWay(OSError):
    """A part of a path is a link where none may be followed."""

    def __init__(self, place: Path) -> None:
        super().__init__(ELOOP, f"{place} is a link, and ralph does not follow it", str(place))


# --- finding ---


def open_folder(path: Path, top: Path = ROOT, *, make: bool = False) -> int:
    """The descriptor of a folder, to work in; ``make``: with whatever is missing of it. Raises OSError."""
    descriptor = os.open(top, _STEP & ~os.O_NOFOLLOW)
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
        return os.open(part, _STEP, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    mode = 0o777 if os.fstat(folder).st_mode & files.OTHERS else files.PRIVATE_FOLDER
    with suppress(FileExistsError):
        os.mkdir(part, mode, dir_fd=folder)
    return os.open(part, _STEP, dir_fd=folder)


def _about(error: OSError, place: Path, folder: int | None = None) -> OSError:
    """The same error, with the whole path; one about a link in words."""
    is_link = error.errno == ENOTDIR and folder is not None and stat.S_ISLNK(_mode(folder, place.name))
    if is_link or error.errno == ELOOP:
        return LinkInTheWay(place)
    error.filename = str(place)
    return error


def _mode(folder: int, name: str) -> int:
    """0: it is not there."""
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
    with open_plain(path, top) as file:
        return file.read(most)


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
        readable = os.open(".", _READ, dir_fd=descriptor)
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


def open_new(path: Path, top: Path = ROOT, *, mode: int = 0o666) -> BinaryIO:
    """To write a file that is not there yet, in folders that are made. Raises OSError."""
    with parent_of(path, top, make=True) as (folder, name):
        return os.fdopen(os.open(name, _NEW, mode, dir_fd=folder), "wb")


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


def remove_tree(path: Path, top: Path = ROOT) -> None:
    """Whatever it is, with all that is in it, also in folders that were closed. Raises OSError."""
    import shutil

    with suppress(FileNotFoundError), parent_of(path, top) as (folder, name):
        try:
            os.unlink(name, dir_fd=folder)
        except OSError as error:  # what unlinking a folder is called depends on the system
            if error.errno not in (EISDIR, EPERM):
                raise
            try:
                shutil.rmtree(name, dir_fd=folder)
            except PermissionError:
                _open_all(folder, name)
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder)  # all but what is another user's, say
                shutil.rmtree(name, dir_fd=folder)
            except RecursionError:
                raise OSError(ENAMETOOLONG, "its folders are nested too deeply") from None


def open_up(path: Path, top: Path = ROOT) -> None:
    """Let this user read, write and search a folder, if it can be let."""
    with suppress(OSError), parent_of(path, top) as (folder, name):
        _open_up(folder, name)


def _open_all(folder: int, name: str) -> None:
    """Programs install folders that nobody may write to."""
    _open_up(folder, name)
    for _, names, _, descriptor in os.fwalk(name, dir_fd=folder):
        for inner in names:
            _open_up(descriptor, inner)


def _open_up(folder: int, name: str) -> None:
    with suppress(OSError):
        descriptor = os.open(name, _STEP, dir_fd=folder)
        try:
            mode = os.fstat(descriptor).st_mode
            if mode & 0o700 != 0o700:
                place = f"/proc/self/fd/{descriptor}" if hasattr(os, "O_PATH") else descriptor
                os.chmod(place, stat.S_IMODE(mode) | 0o700)  # noqa: PTH101
        finally:
            os.close(descriptor)


def keep_copy(file: Path, copy: Path, top: Path = ROOT, copy_top: Path = ROOT) -> None:
    """``copy`` is what ``file`` is now, whatever becomes of that name. A second name for it costs nothing, at any size."""
    with parent_of(file, top) as (folder, name), parent_of(copy, copy_top, make=True) as (other, new):
        try:
            os.link(name, new, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # on another disk, say
            _copy(folder, name, other, new)


def copy(file: Path, copy: Path, top: Path = ROOT, copy_top: Path = ROOT) -> None:
    """A plain file with its permissions and times, a link as a link. Raises OSError; FileExistsError for what is there."""
    with parent_of(file, top) as (folder, name), parent_of(copy, copy_top, make=True) as (other, new):
        _copy(folder, name, other, new)


def make_link(link: Path, target: Path | str, top: Path = ROOT) -> None:
    """Raises OSError; FileExistsError for whatever is there."""
    with parent_of(link, top, make=True) as (folder, name):
        os.symlink(target, name, dir_fd=folder)


def move(file: Path, target: Path, top: Path = ROOT, target_top: Path = ROOT) -> None:
    """A file, a link or a folder; to another disk, too. What is at ``target`` is not replaced. Raises OSError."""
    with parent_of(file, top) as (folder, name), parent_of(target, target_top, make=True) as (other, new):
        if _mode(other, new):
            raise FileExistsError(EEXIST, "it is there already", str(target))
        try:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
        except OSError as error:
            if error.errno != EXDEV:
                raise
            _copy(folder, name, other, new)
            remove_tree(file, top)


def _copy(folder: int, name: str, other: int, new: str) -> None:
    """A link as a link; a pipe or a socket is nothing to keep. Raises OSError."""
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(about.st_mode):
        os.symlink(os.readlink(name, dir_fd=folder), new, dir_fd=other)
    elif stat.S_ISDIR(about.st_mode):
        _copy_folder(folder, name, other, new)
    elif stat.S_ISREG(about.st_mode):
        _copy_file(folder, name, other, new)


def _copy_file(folder: int, name: str, other: int, new: str) -> None:
    with files.open_plain(name, follow=False, folder=folder) as source:
        about = os.fstat(source.fileno())
        with os.fdopen(os.open(new, _NEW, 0o600, dir_fd=other), "wb") as target:
            while chunk := source.read(CHUNK):
                target.write(chunk)
            target.flush()
            os.fchmod(target.fileno(), stat.S_IMODE(about.st_mode) & 0o777)
            os.utime(target.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))


def _copy_folder(folder: int, name: str, other: int, new: str) -> None:
    source = os.open(name, _READ, dir_fd=folder)
    try:
        os.mkdir(new, 0o700, dir_fd=other)
        target = os.open(new, _READ, dir_fd=other)
        try:
            for inner in os.listdir(source):  # noqa: PTH208 - of a descriptor
                _copy(source, inner, target, inner)
        finally:
            os.close(target)
    finally:
        os.close(source)
