"""A packed record as one file: a gzipped tar archive, always the same for the same record.

Read as something that a stranger may have made: plain files of known rooms only, and so much of them.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ralph.adapters import beneath
from ralph.adapters.storage.portable_files import ROOMS, damaged, find_packed, is_name
from ralph.errors import StoreError

ROOMS_IN_ARCHIVE = ("tables", "events", *ROOMS)
MOST_BYTES = 4_000_000_000
MOST_FILES = 100_000
ANY_RATIO = 500_000_000
"""Bytes that an archive may hold however small it is."""
MOST_RATIO = 200
"""Times its own size, beyond that. What agents print is text, which shrinks to a tenth or less, but not to nothing."""
CHUNK = 1_000_000


class _Counted:
    """Reads on, and knows how much it has read."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.count += len(data)
        return data


class _Bounded:
    """What an archive unpacks to, as far as that of any record would. ``packed``: the archive itself."""

    def __init__(self, unpacked: gzip.GzipFile, packed: _Counted) -> None:
        self._unpacked, self._packed = unpacked, packed
        self.seek, self.tell = unpacked.seek, unpacked.tell

    def read(self, size: int = -1) -> bytes:
        data = self._unpacked.read(size)
        if self.tell() > min(MOST_BYTES, max(ANY_RATIO, MOST_RATIO * self._packed.count)):
            raise _too_large()
        return data


def write_archive(folder: Path, beside: tuple[str, ...], output: BinaryIO) -> None:
    """``beside``: files next to the rooms. Raises OSError, or StoreError."""
    ways = [
        *((name,) for name in beside),
        *(way for room in ROOMS_IN_ARCHIVE for way in find_packed(folder, room)),
    ]
    if len(ways) > MOST_FILES:
        message = f"the record has {len(ways):,} files, and an archive can have {MOST_FILES:,}"
        raise StoreError(message, hint="copy the project with its .ralph folder instead")
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=output, mtime=0) as packed,
        tarfile.TarFile(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for way in ways:
            with beneath.open_plain(folder.joinpath(*way), folder) as file:
                about = tarfile.TarInfo("/".join(way))
                about.size = file.seek(0, 2)
                about.mode = 0o600
                file.seek(0)
                archive.addfile(about, file)


def read_archive(source: BinaryIO, beside: tuple[str, ...], folder: Path) -> None:
    """Into an empty folder. Raises StoreError for whatever ``write_archive`` does not write."""
    packed = _Counted(source)
    try:
        with gzip.GzipFile(fileobj=cast(BinaryIO, packed), mode="rb") as unpacked:
            stream = cast(BinaryIO, _Bounded(unpacked, packed))
            with tarfile.TarFile(fileobj=stream, mode="r") as archive:
                for member, name in _members(archive, beside):
                    file = archive.extractfile(member)
                    assert file is not None  # a plain file
                    with beneath.open_new(folder / name, folder, mode=0o600) as target:
                        while chunk := file.read(CHUNK):
                            target.write(chunk)
            while stream.read(CHUNK):  # to its end, where its checksum is
                pass
    except FileExistsError as error:
        what = f"{os.path.relpath(str(error.filename), folder)!r} appears twice in it"
        raise damaged(what) from None
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        message = f"this is not a whole archive of `ralph export`: {error}"
        raise StoreError(
            message, hint="Get it again from where it came from; nothing of it was taken."
        ) from None


def _members(archive: tarfile.TarFile, beside: tuple[str, ...]) -> Iterator[tuple[tarfile.TarInfo, str]]:
    count = 0
    for member in archive:
        way = tuple(member.name.split("/"))
        is_known = way[0] in ROOMS_IN_ARCHIVE if len(way) > 1 else member.name in beside
        if not member.isreg() or member.issparse() or not is_known or not all(map(is_name, way)):
            what = "ralph would not write this"
            raise damaged(what, way)
        count += 1
        if member.size > MOST_BYTES or count > MOST_FILES:
            raise _too_large()
        yield member, member.name
    if not count:
        what = "it is empty"
        raise damaged(what)


def _too_large() -> StoreError:
    what = "it is larger than any record"
    return damaged(what)
