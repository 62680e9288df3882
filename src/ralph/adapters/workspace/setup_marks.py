"""Which worktrees are set up, and from what: noted outside them, after everything else."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder

FOLDER = "prepared"
MOST_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class SetupMarks:
    """In ``folder``, a file named like each worktree; and while one is being set up, an index of what it was before."""

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

    def index(self, name: str) -> Path:
        return self.folder / f"{name}.index"

    def forget(self, name: str) -> None:
        """A worktree of this name is made, or is gone."""
        with suppress(OSError):
            beneath.remove(self.folder / name, self.folder)
            beneath.remove(self.index(name), self.folder)


def place_copy(source: Path, target: Path, top: Path, path: Path, marks: SetupMarks) -> None:
    """Of a file or folder of ``top`` in the worktree ``path``: all of it or nothing, also if it is killed. Raises OSError."""
    make_private_folder(marks.folder)
    unfinished = marks.folder / f"{path.name}.copy"
    trees.remove_tree(unfinished, marks.folder)
    trees.copy(source, unfinished, top, marks.folder)
    trees.move(unfinished, target, marks.folder, path)
