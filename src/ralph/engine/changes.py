"""What became of a work tree, as values that faces show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class FileChange(NamedTuple):
    """Lines added to and removed from a file; None: it is not text."""

    path: str
    added: int | None
    removed: int | None


class CommitLine(NamedTuple):
    id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What became of the work tree, as git tells it."""

    files: tuple[FileChange, ...] = ()
    commits: tuple[CommitLine, ...] = ()
    patch: str = ""
    is_cut: bool = False  # the patch was too long to show whole
    uncommitted: bool = False  # what is shown is not committed yet
    note: str = ""  # why there is nothing to show

    @property
    def added(self) -> int:
        return sum(file.added or 0 for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed or 0 for file in self.files)
