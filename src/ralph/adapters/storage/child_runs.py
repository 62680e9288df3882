"""The runs that a run's agent has started, directly or not, and which of them are still active.

A child in the same project has a row in the same database. A child in another project leaves a small file in its
parent's run folder while it runs. A child in a sandbox leaves that file in the task folder, the only folder of its
parent that it can write to, and ends with the sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, open_folder, write_atomic
from ralph.adapters.storage.database import StartedOf, store_errors
from ralph.adapters.storage.liveness import is_gone
from ralph.domain.holder import Owner
from ralph.values import dataclass, field

RUN_FOLDER_VARIABLE = "RUN_FOLDER"
TASK_FOLDER_VARIABLE = "TASK_FOLDER"
CHILDREN_FOLDER = "children"
MAX_FILE_BYTES = 10_000

# UNION, not UNION ALL: it ends even if the line of parents was made a circle.
ACTIVE = """WITH RECURSIVE family (id) AS (
        SELECT id FROM runs WHERE parent_id = ?
        UNION SELECT runs.id FROM runs JOIN family ON runs.parent_id = family.id
    ) SELECT id, pid, process_started, boot_id, host FROM runs JOIN family USING (id)
    WHERE outcome IS NULL AND pid <> 0 ORDER BY started_at"""


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run that has not ended, and the process it runs in."""

    id: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class EndedRun:
    """How a run ended; ``outcome`` empty: its process died before."""

    id: str
    outcome: str
    reason: str


@dataclass(eq=False, slots=True)
class ChildRuns:
    """The children of one run. A child whose process has died does not count."""

    database: sqlite3.Connection
    state_folder: Path
    run_id: str
    here: Owner
    started_of: StartedOf
    _seen: object = field(init=False, default=None)
    _pids: frozenset[int] = field(init=False, default=frozenset())

    @property
    def _path(self) -> Path:
        return self.state_folder / "ralph.db"

    @property
    def _folder(self) -> Path:
        return self.state_folder / "runs" / self.run_id / CHILDREN_FOLDER

    def active(self) -> list[ChildRun]:
        with store_errors(self._path):
            rows = self.database.execute(ACTIVE, (self.run_id,)).fetchall()
        children = {row[0]: ChildRun(row[0], Owner(*row[1:])) for row in rows}
        for child in self._in_files():
            children.setdefault(child.id, child)
        return [child for child in children.values() if self._is_alive(child)]

    def ends(self, ids: Collection[str]) -> list[EndedRun]:
        """How these ended, as far as they have a row in this database."""
        marks = ", ".join("?" * len(ids))
        with store_errors(self._path):
            rows = self.database.execute(
                f"SELECT id, outcome, reason FROM runs WHERE id IN ({marks}) ORDER BY started_at",  # noqa: S608 - marks
                tuple(ids),
            ).fetchall()
        return [EndedRun(run_id, outcome or "", reason) for run_id, outcome, reason in rows]

    def is_child(self, pid: int) -> bool:
        """Asked for many pids in a row: the record is read again only after a change."""
        seen = self._version()
        if seen != self._seen:
            self._pids = frozenset(child.owner.pid for child in self.active())
            self._seen = seen
        return pid in self._pids

    def _is_alive(self, child: ChildRun) -> bool:
        return not is_gone(
            child.owner, child.id, here=self.here, started_of=self.started_of, state_folder=self.state_folder
        )

    def _version(self) -> object:
        with store_errors(self._path):
            version = self.database.execute("PRAGMA data_version").fetchone()[0]
        try:
            return version, self._folder.stat().st_mtime_ns
        except OSError:
            return version, 0

    def _in_files(self) -> Iterator[ChildRun]:
        try:
            names = beneath.list_names(self._folder, self.state_folder)
        except OSError:
            return
        for file in (self._folder / name for name in names if name.endswith(".json")):
            # The agent may write there too: skip whatever is not a registration.
            with contextlib.suppress(
                OSError, ValueError, ArithmeticError, TypeError, KeyError, RecursionError
            ):
                owner = json.loads(beneath.read_plain(file, MAX_FILE_BYTES, self.state_folder))["owner"]
                texts = (str(owner[name]) for name in ("process_started", "boot_id", "host"))
                yield ChildRun(file.stem, Owner(int(owner["pid"]), *texts))


def cut_off(task_folder: Path) -> list[str]:
    """Remove and return the child runs that registered from inside a sandbox and ended with it."""
    try:
        folder = open_folder(task_folder / CHILDREN_FOLDER)  # only what is really in it is removed
    except OSError:
        return []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))  # noqa: PTH208 - a descriptor
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    return [name.removesuffix(".json") for name in names]


@contextmanager
def registered_child(environ: Mapping[str, str], run_id: str, owner: Owner) -> Iterator[None]:
    """For the duration of the block, register with the run whose agent started this process, if there is one."""
    # In a sandbox the run folder is read-only.
    is_sandboxed = bool(environ.get("RALPH_SANDBOX"))
    parent = environ.get(TASK_FOLDER_VARIABLE if is_sandboxed else RUN_FOLDER_VARIABLE, "")
    if not parent or not Path(parent).is_dir():
        yield
        return
    file = Path(parent) / CHILDREN_FOLDER / f"{run_id}.json"
    with contextlib.suppress(OSError):
        make_private_folder(file.parent)
        write_atomic(file, json.dumps({"owner": asdict(owner)}) + "\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            beneath.remove(file, file.parent)
