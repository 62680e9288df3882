"""Git objects, written without git: a record is some dozens of small files, and a process for each would cost more than its session.

Only into an object store that no agent writes to. Who receives a push computes every name again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, open_plain

if TYPE_CHECKING:
    from hashlib import _Hash

CHUNK = 1_000_000
FILE, PROGRAM, LINK, FOLDER = "100644", "100755", "120000", "40000"
WRITER = "ralph <ralph@localhost>"


class Entry(NamedTuple):
    mode: str
    id: str


Known = dict[str, tuple[tuple[int, int, int], Entry]]
"""Files by their paths: inode, size and time of change, and what they were put as."""


class Objects:
    """``folder``: of a repository's objects. ``like``: an id of the kind that it uses."""

    def __init__(self, folder: Path, like: str) -> None:
        self._folder = folder
        self._kind = "sha1" if len(like) == 40 else "sha256"

    def put(self, kind: str, data: bytes) -> str:
        head = b"%s %d\0" % (kind.encode(), len(data))
        hashed = self._begin(head)
        hashed.update(data)
        name = hashed.hexdigest()
        if not self._has(name):
            self._write(name, [zlib.compress(head + data, 1)])
        return name

    def put_file(self, file: BinaryIO) -> str:
        """Of any size: read twice, so that little of it is in memory. Raises OSError if it changes meanwhile."""
        size = os.fstat(file.fileno()).st_size
        if size <= CHUNK:
            return self.put("blob", file.read(size))
        head = b"blob %d\0" % size
        hashed = self._begin(head)
        _feed(file, size, hashed)
        name = hashed.hexdigest()
        if not self._has(name):
            file.seek(0)
            again = self._begin(head)
            self._write(name, _compressed(head, file, size, again))
            if again.hexdigest() != name:
                os.unlink(self._place(name))  # noqa: PTH108
                raise OSError(0, "it changes while it is read")
        return name

    def put_below(self, path: Path, top: Path) -> Entry | None:
        """A file or a link of the work, as it is; None: it is gone, or neither."""
        about = beneath.status(path, top)
        if about is None:
            return None
        if stat.S_ISLNK(about.st_mode):
            return Entry(LINK, self.put("blob", os.fsencode(beneath.read_link(path, top))))
        if not stat.S_ISREG(about.st_mode):
            return None
        with beneath.open_plain(path, top) as file:
            return Entry(PROGRAM if about.st_mode & 0o100 else FILE, self.put_file(file))

    def put_folder(self, folder: Path, known: Known) -> str:
        """A tree of all plain files in a folder of ours. ``known``: what was put before; it saves reading it again."""
        found: dict[str, Entry] = {}
        with beneath.parent_of(folder) as (above, name):
            for (_, *way), descriptor, names in trees.walk(above, name, is_whole=True):
                for inner in names:
                    about = os.stat(inner, dir_fd=descriptor, follow_symlinks=False)
                    if not stat.S_ISREG(about.st_mode):
                        continue
                    path, state = "/".join((*way, inner)), (about.st_ino, about.st_size, about.st_mtime_ns)
                    before, entry = known.get(path, (None, None))
                    if before != state or entry is None:
                        with open_plain(inner, follow=False, folder=descriptor) as file:
                            entry = Entry(FILE, self.put_file(file))
                        known[path] = state, entry
                    found[path] = entry
        for path in known.keys() - found.keys():
            del known[path]
        return self.put_paths(found)

    def put_paths(self, files: Mapping[str, Entry]) -> str:
        """A tree of files by their paths, with the folders between."""
        folders: dict[str, dict[str, Entry]] = {"": {}}
        for path, entry in files.items():
            above, _, name = path.rpartition("/")
            folders.setdefault(above, {})[name] = entry
            while above:  # each folder on the way
                above = above.rpartition("/")[0]
                folders.setdefault(above, {})
        for path in sorted(folders, key=lambda path: path.count("/"), reverse=True):
            if path:
                above, _, name = path.rpartition("/")
                folders[above][name] = Entry(FOLDER, self.put_tree(folders[path]))
        return self.put_tree(folders[""])

    def put_tree(self, entries: Mapping[str, Entry]) -> str:
        named = [(os.fsencode(name), entry) for name, entry in entries.items()]
        named.sort(key=lambda one: one[0] + (b"/" if one[1].mode == FOLDER else b""))
        return self.put("tree", b"".join(_line(name, entry) for name, entry in named))

    def put_commit(self, tree: str, parents: Iterable[str], message: str, *, at: int) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in dict.fromkeys(parents))]
        lines += [f"{role} {WRITER} {at} +0000" for role in ("author", "committer")]
        return self.put("commit", "\n".join([*lines, "", f"{message}\n"]).encode())

    def _begin(self, head: bytes) -> _Hash:
        return hashlib.new(self._kind, head, usedforsecurity=False)

    def _place(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]

    def _has(self, name: str) -> bool:
        return self._place(name).exists()

    def _write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Complete or not at all; what a power cut makes of it, the remote refuses."""
        place = self._place(name)
        make_private_folder(place.parent)
        unfinished = place.parent / f"tmp_obj_{os.getpid()}_{name[:8]}"
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece)
        unfinished.replace(place)


def _line(name: bytes, entry: Entry) -> bytes:
    return entry.mode.encode() + b" " + name + b"\0" + bytes.fromhex(entry.id)


def _feed(file: BinaryIO, size: int, hashed: _Hash) -> None:
    while size > 0 and (chunk := file.read(min(CHUNK, size))):
        hashed.update(chunk)
        size -= len(chunk)


def _compressed(head: bytes, file: BinaryIO, size: int, hashed: _Hash) -> Iterable[bytes]:
    packed = zlib.compressobj(1)
    yield packed.compress(head)
    while size > 0 and (chunk := file.read(min(CHUNK, size))):
        hashed.update(chunk)
        size -= len(chunk)
        yield packed.compress(chunk)
    yield packed.flush()
