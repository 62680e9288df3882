"""Connections to a database that somebody else may have written: bounded in time and size, and to plain tables only.

A clone can bring its own ``.ralph/ralph.db``. Whatever it holds, a question to it ends soon, with an answer or an error.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ralph.adapters.storage.row_types import check_rows
from ralph.errors import StoreError

LONGEST_VALUE = 32_000_000
"""Bytes of one value; the record's own are a thousand times shorter."""
MOST_SECONDS = 20.0
"""Of computing for one statement, whatever else the machine does meanwhile."""
MAINTAINED = 2_000_000
"""Bytes of a record for which a statement of our own maintenance may compute a second more: a slow machine needs a tenth."""
_STEPS = 50_000
"""Instructions of SQLite between two looks at the clock: a few milliseconds."""
_DEAF_SECONDS = 0.25
"""How long SQLite itself waits for whoever holds the record: Python heeds no signal meanwhile."""
_PAUSE = 0.01
"""Before SQLite is asked again: sometimes it does not wait at all."""

TABLES = frozenset(
    {
        *("runs", "iterations", "events", "claims", "controls", "tasks", "task_dependencies", "task_claims"),
        *("task_events", "verifications", "task_stages", "task_removals"),
    }
)
BESIDE = ("", "-wal", "-shm", "-journal")
"""SQLite's own files, by the end of their name."""

_COMPUTED = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden <> 0"
MOVE = "Move it (and its -wal and -shm files) away; a new one is made. The agent's work is untouched."


class Connection(sqlite3.Connection):
    """Interrupts a statement that computes for too long, and waits ``patience`` seconds while others hold the record."""

    ends, extra, patience = float("inf"), 0.0, 0.0
    _is_durable: bool | None = None

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.ends = time.thread_time() + MOST_SECONDS + self.extra
        try:
            return super().execute(*arguments)
        except sqlite3.OperationalError as error:
            if self.in_transaction or not _is_busy(error):
                raise
        return self._execute_later(*arguments)

    def _execute_later(self, *arguments: Any) -> sqlite3.Cursor:
        """In short steps, so that Ctrl-C ends the wait."""
        gives_up = time.monotonic() + self.patience
        while True:
            time.sleep(_PAUSE)
            try:
                return super().execute(*arguments)
            except sqlite3.OperationalError as error:
                if time.monotonic() > gives_up or not _is_busy(error):
                    raise

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """In a transaction only, which holds the record already."""
        self.ends = time.thread_time() + MOST_SECONDS + self.extra
        return super().executemany(*arguments)

    def make_durable(self, *, durable: bool) -> None:
        """Whether commits from now on survive the death of the machine, too, also those of others who share the connection; not
        in the middle of a transaction."""
        if durable is not self._is_durable:
            self.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._is_durable = durable


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


@contextmanager
def maintain(connection: Connection, path: Path) -> Iterator[None]:
    """For what we ourselves do to a whole record, as to migrate it: the larger it is, the longer a statement may take."""
    connection.extra = sum(map(_bytes_of, (f"{path}{end}" for end in BESIDE))) / MAINTAINED
    try:
        yield
    finally:
        connection.extra = 0.0


def _bytes_of(file: str) -> int:
    """On the disk: a file of holes is no large record."""
    try:
        found = os.lstat(file)
    except OSError:
        return 0
    return min(found.st_size, found.st_blocks * 512)


def connect(path: Path, *, options: str = "", timeout: float) -> Connection:
    """``options``: of SQLite's URI, as ``mode=ro``. Raises StoreError, or what SQLite raises."""
    _require_plain_files(path)
    _require_own_log(path)
    target = f"{path.absolute().as_uri()}?{options}" if options else path
    connection = sqlite3.connect(
        target, uri=bool(options), timeout=_DEAF_SECONDS, isolation_level=None, cached_statements=64, factory=Connection
    )  # fmt: skip
    try:
        connection.patience = timeout
        connection.text_factory = decode
        connection.row_factory = check_rows(path)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.set_progress_handler(lambda: time.thread_time() > connection.ends, _STEPS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def decode(text: bytes) -> str:
    """What is no text is shown as far as it is."""
    return text.decode(errors="replace")


def _require_plain_files(path: Path) -> None:
    """SQLite would follow a link, and wait for a pipe for ever."""
    for end in BESIDE:
        file = f"{path}{end}"
        try:
            mode = os.lstat(file).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            message = f"cannot read {file}: it is not a plain file"
            raise StoreError(message, hint=f"Move it away; ralph keeps its record in {path}.")


def _require_own_log(path: Path) -> None:
    """SQLite plays any log into the database, whosever it is. Between runs there is none, so git may put one there.

    One that is tracked and was written to since is ours: an agent may have added it while a run is under way.
    """
    found = {f"{path.name}{end}": os.path.lexists(f"{path}{end}") for end in BESIDE[1:]}
    if not any(found.values()):
        return
    from ralph.adapters.git_index import tracked_below

    for one in tracked_below(path.parent):
        file = path.parent / one.path
        if found.get(one.path.lower()) and _written(file) == one.written:
            message = f"git put {file} there, which would replace your record: nothing was read"
            name = shlex.quote(str(file))
            hint = (
                f"if it came with a pull: git rm -f {name}; if you added it yourself: git rm --cached {name}"
            )
            raise StoreError(message, hint=hint)


def _written(file: Path) -> tuple[int, int]:
    try:
        return divmod(file.lstat().st_mtime_ns, 1_000_000_000)
    except OSError:
        return -1, 0


def require_plain_tables(connection: sqlite3.Connection, path: Path) -> None:
    """No view in place of a table, and no column that is computed when it is read."""
    kinds = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    for name, kind in kinds:
        is_ours = str(name).lower() in TABLES
        if is_ours and (kind != "table" or connection.execute(_COMPUTED, (name,)).fetchone()):
            message = f"{path} is damaged: {name} is not a table as ralph makes it"
            raise StoreError(message, hint=MOVE)
