"""Which worktrees are set up, and from what: noted outside them, after everything else."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder
from ralph.values import dataclass

FOLDER = "prepared"
MOST_BYTES = 1_000
MOST_BYTES_MADE = 2_000_000


@dataclass(frozen=True, slots=True)
class SetupMarks:
    """In ``folder``, a file named like each worktree, and a list of what was made in it; while it is being set up, an index
    of what it was before."""

    folder: Path

    def read(self, name: str) -> str:
        """What it was set up from; empty: it never was."""
        return (beneath.read_whole(self.folder / name, MOST_BYTES, self.folder) or b"").decode()

    def is_unfinished(self, name: str) -> bool:
        """A process was killed while it set this up."""
        return self.folder.is_dir() and beneath.status(self.index(name), self.folder) is not None

    def write(self, name: str, source: str) -> None:
        make_private_folder(self.folder)
        beneath.write_atomic(self.folder / name, source, self.folder)

    def made(self, name: str) -> dict[str, str]:
        """Files that git ignores, with their state, as they were made by setting it up; empty if there are too many."""
        with suppress(ValueError):
            listed = beneath.read_whole(self._list(name), MOST_BYTES_MADE, self.folder)
            if listed and isinstance(found := json.loads(listed), dict):
                return found
        return {}

    def write_made(self, name: str, made: dict[str, str]) -> None:
        make_private_folder(self.folder)
        beneath.write_atomic(self._list(name), json.dumps(made), self.folder)

    def _list(self, name: str) -> Path:
        return self.folder / f"{name}.made"

    def index(self, name: str) -> Path:
        return self.folder / f"{name}.index"

    def forget(self, name: str) -> None:
        """A worktree of this name is made, or is gone."""
        with suppress(OSError):
            for mark in (self.folder / name, self._list(name), self.index(name)):
                beneath.remove(mark, self.folder)


def place_copy(source: Path, target: Path, top: Path, path: Path, marks: SetupMarks) -> None:
    """Of a file or folder of ``top`` in the worktree ``path``: all of it or nothing, also if it is killed. Raises OSError."""
    make_private_folder(marks.folder)
    unfinished = marks.folder / f"{path.name}.copy"
    trees.remove_tree(unfinished, marks.folder)
    trees.copy(source, unfinished, top, marks.folder)
    trees.move(unfinished, target, marks.folder, path)
