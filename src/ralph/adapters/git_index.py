"""What git tracks below a folder, read from its index: asking git would cost a process each time.

Git takes whatever is ignored for something that it may overwrite: a pull or a switch of branches replaces it without a word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.files import read_whole, real_path
from ralph.adapters.git_folders import NotExamined, git_folders

_MOST_BYTES = 512_000_000
_HEADER = 12
_STATUS = 40
"""Bytes of an entry before the hash: times, identity, mode, owner and size of the file."""
_HASHES = (20, 32)
_LENGTH = 0xFFF
"""Of a path, in the flags; a longer one has this, too."""
_EXTENDED = 0x4000
_COMPRESSED = 4
"""The version in which a path says only how it differs from the one before it."""


class Tracked(NamedTuple):
    """``path``: below the folder that was asked about. ``written``: when git wrote the file, or saw it last."""

    path: str
    content: str
    written: tuple[int, int]


def tracked_below(folder: Path) -> list[Tracked]:
    """Empty if there is no repository. Names count in any case, as some file systems take them."""
    place = real_path(folder)
    try:
        folders = git_folders(place)
    except NotExamined:  # which is asked about for itself
        return []
    if folders is None:
        return []
    prefix = os.fsencode(place.relative_to(real_path(folders.top))) + b"/"
    # A split index has most of it in another file.
    files = [folders.own / "index", *sorted(folders.own.glob("sharedindex.*"))]
    contents = [read_whole(file, _MOST_BYTES) or b"" for file in files]
    return [one for data in contents if data[:4] == b"DIRC" for one in _tracked(data, prefix)]


def _tracked(data: bytes, prefix: bytes) -> Iterator[Tracked]:
    is_compressed = int.from_bytes(data[4:8], "big") == _COMPRESSED
    size = _hash_size(data, is_compressed=is_compressed)
    for path, flags in _walk(data, size) if is_compressed else _search(data, prefix):
        if path.lower().startswith(prefix.lower()):
            begin = flags - size - _STATUS
            seconds, nanoseconds = (
                int.from_bytes(data[at : at + 4], "big") for at in (begin + 8, begin + 12)
            )
            content = data[flags - size : flags].hex()
            yield Tracked(os.fsdecode(path[len(prefix) :]), content, (seconds, nanoseconds))


def _hash_size(data: bytes, *, is_compressed: bool) -> int:
    """Of this repository: the one with which the first entry makes sense."""
    for size in _HASHES:
        flags = _HEADER + _STATUS + size
        begin = _behind(data, flags) + is_compressed
        if data.find(b"\0", begin) - begin == _flags(data, flags) & _LENGTH:
            return size
    return _HASHES[0]


def _flags(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _behind(data: bytes, flags: int) -> int:
    return flags + (4 if _flags(data, flags) & _EXTENDED else 2)


def _search(data: bytes, prefix: bytes) -> Iterator[tuple[bytes, int]]:
    """Each path with this beginning, and where its flags are, which say how long it is."""
    folded, wanted = data.lower(), prefix.lower()
    at = folded.find(wanted, _HEADER)
    while at >= 0:
        path = data[at : data.find(b"\0", at)]
        for flags in (at - 2, at - 4):
            if _behind(data, flags) == at and _flags(data, flags) & _LENGTH == min(len(path), _LENGTH):
                yield path, flags
        at = folded.find(wanted, at + 1)


def _walk(data: bytes, size: int) -> Iterator[tuple[bytes, int]]:
    """Each path, and where its flags are."""
    path, at, data = b"", _HEADER, data + bytes(_HEADER + _STATUS + size)  # half a one has an end, too
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = at + _STATUS + size
        at = _behind(data, flags)
        if at >= len(data):
            return
        dropped = data[at] & 0x7F
        while data[at] & 0x80:
            at += 1
            dropped = (dropped + 1 << 7) + (data[at] & 0x7F)
        end = data.find(b"\0", at + 1)
        if end < 0:
            return
        path = path[: len(path) - dropped] + data[at + 1 : end]
        yield path, flags
        at = end + 1
