"""The folder of a seat, and the gits that work in it.

Ours work from directories beside the clone (``store``, ``plain``), whose settings no session can write; the clone itself is only
read, by its files, once a session has been in it.
"""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.git import Git
from ralph.adapters.seats.directories import NO_CONFIGURATION
from ralph.adapters.seats.heads import Checkout
from ralph.adapters.seats.objects import Objects
from ralph.adapters.seats.remote import SECONDS, Remote, unattended
from ralph.engine.ports import ProcessRunner

HEADS = "refs/heads/"
BASE, RECORD, TIPS = "refs/seat/base", "refs/seat/record", "refs/seat/tips/"
STATE_FOLDER = ".ralph"
EXACT = "protocol.version=2"
"""With which a commit can be fetched by its name."""


class SeatFolder:
    def __init__(self, path: Path, repository: str, runner: ProcessRunner) -> None:
        self.path = path
        self.project = path / "project"
        self.shift = path / "shift"
        self.note = path / "seat.json"
        self.lock = path / "lock"
        self.store, self.plain, self.packed = path / "store", path / "plain", path / "packed"
        self._repository, self._runner = repository, runner

    @property
    def clone(self) -> Path:
        """The clone's own git directory."""
        return self.project / ".git"

    @property
    def state(self) -> Path:
        return self.project / STATE_FOLDER

    def objects(self, like: str) -> Objects:
        return Objects(self.store / "objects", like)

    @property
    def remote(self) -> Remote:
        return Remote(self.git, self._repository)

    @property
    def git(self) -> Git:
        return self._at(self.store, {"GIT_DIR": str(self.store), **unattended()})

    def trusted(self, top: Path, **environment: str) -> Git:
        """In a checkout, with the user's own settings and none of the clone's."""
        return self._at(top, {"GIT_DIR": str(self.store), "GIT_WORK_TREE": str(top), **environment})

    def neutral(self, top: Path, **environment: str) -> Git:
        """Writes content as it is."""
        objects = {"GIT_OBJECT_DIRECTORY": str(self.store / "objects")}
        places = {"GIT_DIR": str(self.plain), "GIT_WORK_TREE": str(top)}
        return self._at(top, {**places, **objects, **NO_CONFIGURATION, **environment})

    def clones_index(self, one: Checkout) -> Git:
        """Reads the clone's objects, which may be forged."""
        return self.neutral(
            self.project / one.path,
            GIT_INDEX_FILE=str(one.folder / "index"),
            GIT_ALTERNATE_OBJECT_DIRECTORIES=str(self.clone / "objects"),
        )

    def own(self, top: Path) -> Git:
        """The clone's: only before a session has been in it."""
        return Git(top, self._runner, is_top=True, seconds=SECONDS)

    def _at(self, top: Path, environment: dict[str, str]) -> Git:
        hint = f"a seat can be made again: remove {self.path}"
        return Git(top, self._runner, seconds=SECONDS, environment=environment, hint=hint)
