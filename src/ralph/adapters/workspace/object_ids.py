"""The names that git gives to content: whether it is what it was can be told without git, whatever its size."""

from __future__ import annotations

import os
import sys
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import beneath

try:  # Python's own: hashlib loads OpenSSL, which a run that proves nothing does without
    from _sha1 import sha1  # type: ignore[import-not-found]

    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha1, sha256

if TYPE_CHECKING:
    from hashlib import _Hash

CHUNK = 1_000_000


def begin_id(size: int, like: str) -> _Hash:
    """To be updated with ``size`` bytes of content; ``like``: an id of the same kind."""
    # OpenSSL's are several times as fast, if something else has loaded it.
    hashlib = sys.modules.get("hashlib")
    name, own = ("sha1", sha1) if len(like) == 40 else ("sha256", sha256)
    hashed: _Hash = getattr(hashlib, name, own)(usedforsecurity=False)
    hashed.update(b"blob %d\0" % size)
    return hashed


def object_id(content: bytes, like: str) -> str:
    hashed = begin_id(len(content), like)
    hashed.update(content)
    return hashed.hexdigest()


def id_of_file(file: Path, like: str, top: Path, *, most: float = inf) -> str:
    """Empty if it is no plain file that can be read, or has more than so many bytes."""
    try:
        with beneath.open_plain(file, top) as opened:
            size = os.fstat(opened.fileno()).st_size
            if size > most:
                return ""
            hashed = begin_id(size, like)
            left = size + 1  # one byte more tells that the file has grown
            # Room for a whole chunk would take longer than most files to read.
            while left and (chunk := opened.read(min(CHUNK, left))):
                hashed.update(chunk)
                left -= len(chunk)
    except OSError:
        return ""
    return hashed.hexdigest()
