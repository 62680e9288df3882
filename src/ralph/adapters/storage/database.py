"""Opening ``.ralph/ralph.db``: WAL, migrations, and clear words when it cannot be used."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.adapters.files import make_state_folder
from ralph.errors import StoreError

BUSY_TIMEOUT = 10.0
APPLICATION_ID = 0x52414C50  # "RALP": tells our file from somebody else's


def open_state_database(folder: Path) -> sqlite3.Connection:
    """The database of a state folder, which is made at first use."""
    with store_errors(folder):
        make_state_folder(folder)
    return open_database(folder / "ralph.db")


def open_database(path: Path) -> sqlite3.Connection:
    """The journal's database, brought up to date. Raises StoreError and never touches a file that is not ours."""
    with store_errors(path):
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, cached_statements=64)
        try:
            _use_wal(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """The first to come switches a new file over; SQLite does not let the others wait for that by itself."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    migrations = _migrations()
    version = _version(connection)
    if version > len(migrations):
        message = f"{path} was written by a newer ralph (schema {version}, this one knows {len(migrations)})"
        raise StoreError(message, hint="Upgrade ralph, or move the file away to start afresh.")
    if version == len(migrations):
        return
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version == 0 and tables and application != APPLICATION_ID:
        message = f"{path} is a database, but not one of ralph's"
        raise StoreError(message, hint="Move the file away; ralph will not write into it.")
    with transaction(connection):
        # Another process may have migrated while this one waited for the lock.
        for number in range(_version(connection), len(migrations)):
            for statement in _statements(migrations[number]):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrations() -> list[str]:
    folder = Path(__file__).with_name("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text() for name in names]


def _statements(script: str) -> Iterator[str]:
    # executescript() would commit the transaction that makes a migration all or nothing.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock held from the beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk may have ended the transaction already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system say into what the user can do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explained(error, path) from error
    except (FileExistsError, NotADirectoryError) as error:
        message = f"cannot write {path}: something else of that name is in the way"
        raise StoreError(message, hint="Move it away; ralph needs a directory there.") from error
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise StoreError(
            message, hint="Free some space or make the folder writable; no work was lost."
        ) from error


def _explained(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreError(
            f"{path} is damaged: {error}",
            hint="Move it (and its -wal and -shm files) away; a new one is made. The agent's work is untouched.",
        )
    if name.startswith("SQLITE_FULL"):
        return StoreError(f"cannot write {path}: the disk is full", hint="Free some space; no work was lost.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreError(
            f"cannot write {path}: {error}",
            hint="Make the folder writable, or choose another with --project-dir.",
        )
    if name.startswith("SQLITE_IOERR"):
        return StoreError(
            f"cannot write {path}: {error}", hint="Check free space and the disk's health; no work was lost."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"{path} is locked by another process", hint="Wait for it to finish, or look for a stuck ralph."
        )
    return StoreError(f"{path}: {error}", hint="The agent's work is untouched.")
