"""The files of a project at one moment, by content: what a run began with, and what it claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ralph.values import dataclass, field

LINK = "120000"
"""The mode of a symbolic link, as git writes it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: git's mode, and the object id of its content."""

    mode: str
    object_id: str


@dataclass(frozen=True)
class Tree:
    """``files`` by path, with ``/``, relative to the top. A value: two trees of the same files are equal."""

    files: Mapping[str, Entry] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        from hashlib import sha256  # loads OpenSSL, which a run without a claim never needs

        found = sha256()
        for path in sorted(self.files):
            entry = self.files[path]
            found.update(f"{entry.mode} {entry.object_id} {path}\0".encode(errors="surrogateescape"))
        return found.hexdigest()

    def differing(self, other: Tree) -> frozenset[str]:
        """Paths that are not the same in both."""
        return frozenset(
            path
            for path in self.files.keys() | other.files.keys()
            if self.files.get(path) != other.files.get(path)
        )

    def putting_back(self, paths: Iterable[str], before: Tree) -> Tree:
        """This tree, but with ``paths`` as they were ``before``; what was not there then is left out."""
        files = dict(self.files)
        for path in paths:
            files.pop(path, None)
        was = {path: before.files[path] for path in paths if path in before.files}
        for path in was:  # a file cannot lie where a folder is, nor the other way round
            for other in [name for name in files if _collide(name, path)]:
                del files[other]
        return Tree({**files, **was})


def _collide(one: str, other: str) -> bool:
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")
