"""What git says was changed in a working tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ralph.values import dataclass


class FileChange(NamedTuple):
    """Lines added and removed; None: not a text file."""

    path: str
    added: int | None
    removed: int | None


class CommitLine(NamedTuple):
    id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The files, the commits and the patch."""

    files: tuple[FileChange, ...] = ()
    commits: tuple[CommitLine, ...] = ()
    patch: str = ""
    is_cut: bool = False  # the patch is too long to show in full
    uncommitted: bool = False  # the changes are not committed yet
    note: str = ""  # why there is nothing to show

    @property
    def added(self) -> int:
        return sum(file.added or 0 for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed or 0 for file in self.files)


def combine_changes(parts: Iterable[Changes]) -> Changes:
    """What several runs changed together. If nothing, the last note says why."""
    files: dict[str, FileChange] = {}
    commits: list[CommitLine] = []
    patches: list[str] = []
    is_cut, note = False, ""
    for part in parts:
        for path, added, removed in part.files:
            before = files.get(path, FileChange(path, 0, 0))
            files[path] = FileChange(path, _sum(before.added, added), _sum(before.removed, removed))
        commits += part.commits
        patches += [part.patch] if part.patch else []
        is_cut, note = is_cut or part.is_cut, part.note or note
    return Changes(
        files=tuple(files.values()),
        commits=tuple(commits),
        patch="\n".join(patches),
        is_cut=is_cut,
        note="" if files else note,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
