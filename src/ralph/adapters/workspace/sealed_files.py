"""What a run keeps for its resumption, sealed: damage is an error in words, never another content."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters import beneath, trees
from ralph.adapters.files import write_atomic
from ralph.errors import GitFailed

if TYPE_CHECKING:
    from hashlib import _Hash

MOST_BYTES = 500_000_000
CHUNK = 1_000_000
UNSEALED = {"base.json": "ignored", "canary.json": "canary", "converted": "converted"}
"""Notes as earlier versions called them, and what they are called now."""
HINT = "look at what the run changed of the tests and checks, then start a new run"


def lost(file: Path, what: str = "") -> GitFailed:
    """Nobody knows any more what the run began with; ``what``: is wrong with the file."""
    what = what or ("damaged" if os.path.lexists(file) else "missing")
    return GitFailed(f"{file} is {what}: what the run began with is not known", hint=HINT)


def write_sealed(file: Path, text: str) -> None:
    content = text.encode()
    write_atomic(file, _seal(content) + b"\n" + content)


def read_sealed(file: Path) -> str | None:
    """None if it is not there. Raises GitFailed if it is damaged."""
    if not os.path.lexists(file):
        return None
    found = beneath.read_whole(file, MOST_BYTES, file.parent) or b""
    if not _is_sealed(found):
        raise lost(file)
    return found.partition(b"\n")[2].decode()


def seal_notes(folder: Path) -> None:
    """Those of a run that an earlier version of ralph began. What is sealed already stays as it is."""
    for old, name in UNSEALED.items():
        content = beneath.read_whole(folder / old, MOST_BYTES, folder)
        if content is not None and not _is_sealed(content):
            write_sealed(folder / name, content.decode())


def _is_sealed(found: bytes) -> bool:
    seal, _, content = found.partition(b"\n")
    return _seal(content) == seal


def _seal(content: bytes) -> bytes:
    hashed = _new_hash("sha256")
    hashed.update(content)
    return hashed.hexdigest().encode()


def _new_hash(kind: str) -> _Hash:
    from hashlib import new  # loads OpenSSL, which a run that has nothing to prove never needs

    return new(kind, usedforsecurity=False)


def seal_of_index(file: Path) -> bytes | None:
    """Git seals an index with a hash at its end, but does not look at it. None if it is missing or damaged."""
    content = beneath.read_whole(file, MOST_BYTES, file.parent)
    if content is None:
        return None
    for kind in ("sha1", "sha256"):
        hashed = _new_hash(kind)
        size = hashed.digest_size
        hashed.update(content[:-size])
        if hashed.digest() == content[-size:]:
            return content[-size:]
    return None


def remove_damaged_objects(objects: Path) -> None:
    """Loose ones that are not what their names say: git would not write them again."""
    for folder in (objects / name for name in _names(objects, objects) if len(name) == 2):
        for file in (folder / name for name in _names(folder, objects)):
            if not _is_whole(file):
                trees.remove_tree(file, objects)


def _names(folder: Path, top: Path) -> list[str]:
    try:
        return beneath.list_names(folder, top)
    except OSError:
        return []


def _is_whole(file: Path) -> bool:
    name = file.parent.name + file.name
    hashed = _new_hash("sha1" if len(name) == 40 else "sha256")
    packed = zlib.decompressobj()
    try:
        with beneath.open_plain(file, file.parent.parent) as opened:
            while chunk := opened.read(CHUNK):
                hashed.update(packed.decompress(chunk))
        hashed.update(packed.flush())
    except (OSError, zlib.error):
        return False
    return hashed.hexdigest() == name


def remove(file: Path) -> None:
    """Whatever is in its place."""
    trees.remove_tree(file, file.parent)
