"""Files and whole folders, removed, copied and moved: a link as a link, and no link on the way (``beneath.py``).

What an agent leaves may be closed, even to its owner, and may change meanwhile: what can be done is done, and what stays is
an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from errno import EEXIST, EISDIR, ENAMETOOLONG, ENOTEMPTY, EPERM, EXDEV
from pathlib import Path

from ralph.adapters import files
from ralph.adapters.beneath import NEW, READ, ROOT, STEP, make_folder, mode_in, parent_of, status

CHUNK = 1_000_000
_ATTEMPTS = 3
_DEEPEST = 100
"""Levels of folders. An agent can nest them deeper than a stack, the open files of a process, or the longest path."""


def remove_tree(path: Path, top: Path = ROOT) -> None:
    """Whatever it is, with all that is in it, also in folders that were closed. Raises OSError if anything of it stays."""
    with suppress(FileNotFoundError), parent_of(path, top) as (folder, name):
        _remove(folder, name)


def make_room(path: Path, top: Path) -> None:
    """Nothing is at ``path``, and all above it are folders: whatever else is in the way, a link say, is removed. Raises OSError."""
    for place in reversed([one for one in path.parents if one.is_relative_to(top) and one != top]):
        about = status(place, top)
        if about is None:
            break
        if not stat.S_ISDIR(about.st_mode):
            remove_tree(place, top)
    remove_tree(path, top)
    make_folder(path.parent, top)


def copy(file: Path, copy: Path, top: Path = ROOT, copy_top: Path = ROOT) -> None:
    """A plain file with its permissions and times, a link as a link. Raises OSError; FileExistsError for what is there."""
    with parent_of(file, top) as (folder, name), parent_of(copy, copy_top, make=True) as (other, new):
        _copy(folder, name, other, new)


def keep_copy(file: Path, copy: Path, top: Path = ROOT, copy_top: Path = ROOT) -> None:
    """``copy`` is what ``file`` is now, whatever becomes of that name. A second name for it costs nothing, at any size."""
    with parent_of(file, top) as (folder, name), parent_of(copy, copy_top, make=True) as (other, new):
        try:
            os.link(name, new, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # on another disk, say
            _copy(folder, name, other, new)


def move(file: Path, target: Path, top: Path = ROOT, target_top: Path = ROOT) -> None:
    """A file, a link or a folder; to another disk, too. What is at ``target`` is not replaced. Raises OSError."""
    with parent_of(file, top) as (folder, name), parent_of(target, target_top, make=True) as (other, new):
        if mode_in(other, new):
            raise FileExistsError(EEXIST, "it is there already", str(target))
        try:
            _rename(folder, name, other, new)
        except OSError as error:
            if error.errno != EXDEV:
                raise
            try:
                _open_all(folder, name)
                _copy(folder, name, other, new)
            except BaseException:  # half of it is worth nothing
                with suppress(OSError):
                    _remove(other, new)
                raise
            _remove(folder, name)


def open_up(path: Path, top: Path = ROOT) -> None:
    """Let this user read, write and search a folder, if it can be let."""
    with suppress(OSError), parent_of(path, top) as (folder, name):
        _open_up(folder, name)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError as error:  # what unlinking a folder is called depends on the system
        if error.errno not in (EISDIR, EPERM):
            raise
        _remove_folder(folder, name)


def _remove_folder(folder: int, name: str) -> None:
    import shutil

    for _ in range(_ATTEMPTS):
        try:
            shutil.rmtree(name, dir_fd=folder)
        except RecursionError:
            failure = OSError(ENAMETOOLONG, "its folders are nested too deeply")
        except OSError as error:  # a folder is closed, or somebody else removes some of it
            failure = error
        else:
            return
        _flatten(folder, name)
        with suppress(RecursionError):
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)  # all but what is another user's, say
        if not mode_in(folder, name):
            return
    if isinstance(failure, FileNotFoundError):  # which would mean that all of it is gone
        raise OSError(ENOTEMPTY, "somebody else is changing it")
    raise failure


def _rename(folder: int, name: str, other: int, new: str) -> None:
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
    except PermissionError:  # a closed folder gets no other parent
        _open_up(folder, name)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)


def walk(
    folder: int, name: str, *, is_whole: bool = False
) -> Iterator[tuple[tuple[str, ...], int, list[str]]]:
    """The way to each folder, its descriptor, and the names in it; itself first, and whatever is opened meanwhile.

    Each is reached from the first one, so few descriptors are open. Where it cannot enter, or gets too deep, it turns round;
    ``is_whole``: raises OSError.
    """
    waiting: list[tuple[str, ...]] = [(name,)]
    while waiting:
        way = waiting.pop()
        try:
            descriptor = _reach(folder, way)
        except OSError:
            if is_whole:
                raise
            continue
        try:
            names = os.listdir(descriptor)  # noqa: PTH208 - of a descriptor
            yield way, descriptor, names
            inner = [(*way, each) for each in names if stat.S_ISDIR(mode_in(descriptor, each))]
        finally:
            os.close(descriptor)
        if len(way) < _DEEPEST:
            waiting += inner
        elif inner and is_whole:
            raise OSError(ENAMETOOLONG, "its folders are nested too deeply")


def _reach(folder: int, way: tuple[str, ...]) -> int:
    *steps, last = way
    place = os.dup(folder)
    try:
        for step in steps:
            place, before = os.open(step, STEP, dir_fd=place), place
            os.close(before)
        return os.open(last, READ, dir_fd=place)
    finally:
        os.close(place)


def _open_all(folder: int, name: str) -> None:
    """Programs install folders that nobody may write to."""
    _open_up(folder, name)
    for _, descriptor, names in walk(folder, name):
        for inner in names:
            _open_up(descriptor, inner)


def _flatten(folder: int, name: str) -> None:
    """Open each folder of what is to be removed, and bring whatever is nested too deeply to its top."""
    _open_up(folder, name)
    with suppress(OSError):
        top = os.open(name, READ, dir_fd=folder)
        try:
            waiting, number = ["."], 0
            while waiting:
                for way, descriptor, names in walk(top, waiting.pop()):
                    for inner in names:
                        _open_up(descriptor, inner)
                        if len(way) == _DEEPEST and stat.S_ISDIR(mode_in(descriptor, inner)):
                            while mode_in(top, new := f"deep-{number}"):
                                number += 1
                            os.rename(inner, new, src_dir_fd=descriptor, dst_dir_fd=top)
                            waiting.append(new)
        finally:
            os.close(top)


def _open_up(folder: int, name: str) -> None:
    with suppress(OSError):
        descriptor = os.open(name, STEP, dir_fd=folder)
        try:
            mode = os.fstat(descriptor).st_mode
            if mode & 0o700 != 0o700:
                place = f"/proc/self/fd/{descriptor}" if hasattr(os, "O_PATH") else descriptor
                os.chmod(place, stat.S_IMODE(mode) | 0o700)  # noqa: PTH101
        finally:
            os.close(descriptor)


def _copy(folder: int, name: str, other: int, new: str) -> None:
    """A link as a link; a pipe or a socket is nothing to keep. Raises OSError."""
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        _copy_folder(folder, name, other, new)
    else:
        _copy_entry(folder, name, other, new)


def _copy_entry(folder: int, name: str, other: int, new: str) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(name, dir_fd=folder), new, dir_fd=other)
    elif stat.S_ISDIR(mode):
        os.mkdir(new, 0o700, dir_fd=other)
    elif stat.S_ISREG(mode):
        _copy_file(folder, name, other, new)


def _copy_file(folder: int, name: str, other: int, new: str) -> None:
    with files.open_plain(name, follow=False, folder=folder) as source:
        about = os.fstat(source.fileno())
        with os.fdopen(os.open(new, NEW, 0o600, dir_fd=other), "wb") as target:
            if not _copied_inside(source.fileno(), target.fileno()):
                while chunk := source.read(CHUNK):
                    target.write(chunk)
                target.flush()
            os.fchmod(target.fileno(), stat.S_IMODE(about.st_mode) & 0o777)
            os.utime(target.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))


def _copied_inside(source: int, target: int) -> bool:
    """By the system itself, which on some disks lets both share their blocks. False: it cannot, and nothing was copied."""
    copied = 0
    try:
        while step := os.copy_file_range(source, target, CHUNK * 1_000):
            copied += step
    except (OSError, AttributeError):  # between two kinds of disks; not Linux
        if copied:
            raise
    return bool(copied)


def _copy_folder(folder: int, name: str, other: int, new: str) -> None:
    os.mkdir(new, 0o700, dir_fd=other)
    modes: list[tuple[tuple[str, ...], int]] = []
    for (_, *way), source, names in walk(folder, name, is_whole=True):
        target = _reach(other, (new, *way))
        try:
            for inner in names:
                _copy_entry(source, inner, target, inner)
        finally:
            os.close(target)
        modes.append(((new, *way), stat.S_IMODE(os.fstat(source).st_mode) & 0o777))
    for place, mode in reversed(modes):  # a folder may be closed when all is in it
        target = _reach(other, place)
        try:
            os.fchmod(target, mode)
        finally:
            os.close(target)
