"""What agents printed, compressed: how an old stream becomes a smaller file, and how that is read.

A stream is compressed into a file of its own, which takes its final name when it is whole and on the disk; only then the
original goes. Whoever is killed in between leaves the original, the compressed one, or both, and nobody sees half of one.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable
from contextlib import suppress
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO, cast

from ralph.adapters import beneath, files
from ralph.domain.loop.old_files import COMPRESSED

SMALLEST = 4096
"""Bytes: what fits into one block of the disk gets no smaller."""
LEVEL = 6
CHUNK = 256 * 1024
UNFINISHED = f"{COMPRESSED}.tmp"
"""How the name of one ends that is not whole yet; what ends in ``.tmp`` does not travel with a record."""


class _Reading(GzipFile):
    """One that is damaged or cut off is an error of reading like any other."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._source = file

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except (EOFError, zlib.error) as error:
            raise _damaged(error) from error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return super().seek(offset, whence)
        except (EOFError, zlib.error) as error:
            raise _damaged(error) from error

    def close(self) -> None:
        super().close()
        self._source.close()


def _damaged(error: Exception) -> OSError:
    return OSError(0, f"it is damaged: {error}")


def open_compressed(path: Path, top: Path) -> BinaryIO:
    """What a stream of this name held, to read. Raises OSError; FileNotFoundError, with its own name, if it is not there."""
    try:
        return cast("BinaryIO", _Reading(beneath.open_plain(_compressed(path), top)))
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from None


def _compressed(path: Path) -> Path:
    return path.with_name(f"{path.name}{COMPRESSED}")


def compress(path: Path, top: Path, *, is_wanted: Callable[[], bool]) -> None:
    """Put a compressed file in the place of a stream that nobody writes to any more; a small one stays as it is.

    ``is_wanted`` is asked again and again: as soon as it is not, all is left as it was. Raises OSError.
    """
    with (
        beneath.parent_of(path, top) as (folder, name),
        files.open_plain(name, follow=False, folder=folder) as source,
    ):
        about = os.fstat(source.fileno())
        if about.st_size <= SMALLEST:
            return
        unfinished = f".{name}{UNFINISHED}"
        _forget(folder, unfinished)
        try:
            descriptor = os.open(unfinished, beneath.NEW, files.PRIVATE_FILE, dir_fd=folder)
            with open(descriptor, "wb") as target:  # noqa: PTH123 a descriptor
                # Neither name nor time are in it: the same stream gives the same file on every machine.
                with GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=target, mtime=0) as packed:
                    while chunk := source.read(CHUNK):
                        packed.write(chunk)
                        if not is_wanted():
                            return
                target.flush()
                os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & files.PRIVATE_FILE)
                os.utime(descriptor, ns=(about.st_atime_ns, about.st_mtime_ns))
                os.fsync(descriptor)
            os.replace(unfinished, f"{name}{COMPRESSED}", src_dir_fd=folder, dst_dir_fd=folder)
            files.sync_folder(folder)  # before the original goes
            os.unlink(name, dir_fd=folder)
        finally:
            _forget(folder, unfinished)


def _forget(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
