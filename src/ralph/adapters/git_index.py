"""What git tracks below a folder, read from its index: asking git would cost a process each time.

Git takes whatever is ignored for something that it may overwrite: a pull or a switch of branches replaces it without a word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ralph.adapters.files import is_true, read_whole, real_path
from ralph.adapters.git_folders import GitFolders, NotExamined, git_folders, is_marked

_MOST_BYTES = 512_000_000
_HEADER = 12
_STATUS = 40
"""Bytes of an entry before the hash: times, identity, mode, owner and size of the file."""
_MODE = 24
_SUBMODULE = (0o160000).to_bytes(4, "big")
_HASHES = (20, 32)
_LENGTH = 0xFFF
"""Of a path, in the flags; a longer one has this, too."""
_EXTENDED = 0x4000
_COMPRESSED = 4
"""The version in which a path says only how it differs from the one before it."""


class Tracked(NamedTuple):
    """``path``: below the folder that was asked about; empty if that is a submodule or a link itself. ``written``: when git wrote the file, or saw it last."""

    path: str
    content: str
    written: tuple[int, int]


def tracked_below(folder: Path) -> list[Tracked]:
    """By whatever repository: that of the folder itself, as of a submodule, and each one around it, which writes there as well.

    Names count in any case, as some file systems take them.
    """
    named = real_path(folder.parent) / folder.name  # a link may lead into another repository
    return [
        one
        for place in dict.fromkeys((real_path(folder), named))
        for top in (place, *place.parents)
        if is_true(partial(is_marked, top))
        for one in _tracked_by(top, os.fsencode(place.relative_to(top)) if top != place else b"")
    ]


def submodules_of(folders: GitFolders) -> list[str]:
    """Their paths, below the top of the working tree, whether or not ``.gitmodules`` knows them."""
    found: dict[str, None] = {}
    for data in _indexes(folders):
        if _SUBMODULE not in data:
            continue
        is_compressed = _is_compressed(data)
        size = _hash_size(data, is_compressed=is_compressed)
        for path, flags in _walk(data, size, is_compressed=is_compressed):
            mode = flags - size - _STATUS + _MODE
            if data[mode : mode + 4] == _SUBMODULE:
                found[os.fsdecode(path)] = None
    return [*found]


def _tracked_by(top: Path, name: bytes) -> Iterator[Tracked]:
    try:
        folders = git_folders(top)
    except NotExamined:  # which is asked about for itself
        return
    for data in _indexes(folders) if folders is not None else ():
        yield from _tracked(data, name)


def _indexes(folders: GitFolders) -> Iterator[bytes]:
    """A split index has most of it in another file."""
    for file in (folders.own / "index", *sorted(folders.own.glob("sharedindex.*"))):
        data = read_whole(file, _MOST_BYTES) or b""
        if data[:4] == b"DIRC":
            yield data


def _is_compressed(data: bytes) -> bool:
    return int.from_bytes(data[4:8], "big") == _COMPRESSED


def _tracked(data: bytes, name: bytes) -> Iterator[Tracked]:
    is_compressed = _is_compressed(data)
    size = _hash_size(data, is_compressed=is_compressed)
    must_walk = is_compressed or not name
    for path, flags in _walk(data, size, is_compressed=is_compressed) if must_walk else _search(data, name):
        below = path[len(name) :] if name else b"/" + path
        if path.lower().startswith(name.lower()) and below[:1] in (b"", b"/"):
            begin = flags - size - _STATUS
            seconds, nanoseconds = (
                int.from_bytes(data[at : at + 4], "big") for at in (begin + 8, begin + 12)
            )
            content = data[flags - size : flags].hex()
            yield Tracked(os.fsdecode(below[1:]), content, (seconds, nanoseconds))


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


def _search(data: bytes, name: bytes) -> Iterator[tuple[bytes, int]]:
    """Each path with this beginning, and where its flags are, which say how long it is."""
    folded, wanted = data.lower(), name.lower()
    at = folded.find(wanted, _HEADER)
    while at >= 0:
        path = data[at : data.find(b"\0", at)]
        for flags in (at - 2, at - 4):
            if _behind(data, flags) == at and _flags(data, flags) & _LENGTH == min(len(path), _LENGTH):
                yield path, flags
        at = folded.find(wanted, at + 1)


def _walk(data: bytes, size: int, *, is_compressed: bool) -> Iterator[tuple[bytes, int]]:
    """Each path, and where its flags are."""
    path, begin, data = b"", _HEADER, data + bytes(_HEADER + _STATUS + size)  # half a one has an end, too
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = begin + _STATUS + size
        at = _behind(data, flags)
        if at >= len(data):
            return
        kept = 0
        if is_compressed:
            dropped = data[at] & 0x7F
            while data[at] & 0x80:
                at += 1
                dropped = (dropped + 1 << 7) + (data[at] & 0x7F)
            kept, at = len(path) - dropped, at + 1
        end = data.find(b"\0", at)
        if end < 0:
            return
        path = path[:kept] + data[at:end]
        yield path, flags
        begin = end + 1 if is_compressed else begin + _padded(end - begin)


def _padded(length: int) -> int:
    """With the zeros behind it: at least one, and up to the next eight bytes."""
    return length + 8 - length % 8
