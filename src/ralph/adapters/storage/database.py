"""Opens ``.ralph/ralph.db``: WAL, migrations, and a clear error when it cannot be used."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.adapters.files import OTHERS, PRIVATE_FILE, make_state_folder
from ralph.adapters.storage.connection import (
    MOVE,
    Connection,
    connect,
    decode,
    maintain,
    require_plain_tables,
)
from ralph.errors import StoreError, TooManyFiles

_CACHE_KB = 512
"""What a run writes at a time fits in; what is read again comes from the system's own cache. SQLite would take 2 MB."""
BUSY_TIMEOUT = 10.0
APPLICATION_ID = 0x52414C50  # "RALP": marks the file as ours
MIGRATIONS = sorted(Path(__file__).with_name("migrations").glob("*.sql"))

DAMAGED = MOVE

LONGEST_PATH = 500
"""SQLite takes 512 bytes; the names of its other files are longer."""

SQLITE_FILES = 4
"""The database, its two other files, and the folder."""

Statement = tuple[str, tuple[object, ...]]
"""SQL and its values."""

StartedOf = Callable[[int], str | None]
"""When the process that has a pid now was started; None if there is none. Tells live owners from dead ones."""


def open_state_database(folder: Path) -> Connection:
    """The database of a state folder, which is created on first use."""
    with store_errors(folder):
        make_state_folder(folder)
    return open_database(folder / "ralph.db")


def open_database(path: Path) -> Connection:
    """The database, migrated. Raises StoreError and never touches a file that is not ours."""
    with store_errors(path):
        _close_to_others(path)
        connection = connect(path, timeout=BUSY_TIMEOUT)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.make_durable(durable=False)
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _close_to_others(path: Path) -> None:
    """Before SQLite opens it, whose other files get the same permissions; if that fails, SQLite says why.

    By its name: to open and close a database in a process that has it open already would drop SQLite's locks.
    """
    with suppress(OSError):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
        except FileExistsError:
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS and found.st_uid == os.geteuid():
                path.chmod(found.st_mode & PRIVATE_FILE)


def _migrate(connection: Connection, path: Path) -> None:
    if schema_version(connection, path) == len(MIGRATIONS):
        return
    with maintain(connection, path), transaction(connection):
        # Another process may have migrated while this one waited for the lock.
        for migration in MIGRATIONS[schema_version(connection, path) :]:
            for statement in _statements(migration.read_text()):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """0: nothing in it yet. Raises StoreError for a database of another program, or of a newer ralph."""
    # Tables first: another process may be making them, and the rest is there as soon as they are.
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if tables and application != APPLICATION_ID:
        message = f"{path} is a database, but not one of ralph's"
        raise StoreError(message, hint="Move the file away; ralph will not write into it.")
    if version < 0:
        message = f"{path} is damaged: its schema has the number {version}"
        raise StoreError(message, hint=DAMAGED)
    if version > len(MIGRATIONS):
        message = f"{path} was written by a newer ralph (schema {version}, this one knows {len(MIGRATIONS)})"
        raise StoreError(message, hint="Upgrade ralph, or move the file away to start over.")
    require_plain_tables(connection, path)
    return version


def path_of(connection: sqlite3.Connection) -> Path:
    connection.text_factory = bytes  # a path need not be UTF-8
    try:
        return Path(os.fsdecode(connection.execute("PRAGMA database_list").fetchone()[2]))
    finally:
        connection.text_factory = decode


def _statements(script: str) -> Iterator[str]:
    # executescript() would commit the transaction that makes a migration atomic.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock held from the start."""
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
    """Turn errors of SQLite and the file system into a StoreError that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explain(error, path) from error
    except UnicodeDecodeError as error:  # SQLite's own words about names that are no text
        message = f"{path} is damaged: {error}"
        raise StoreError(message, hint=DAMAGED) from error
    except (FileExistsError, NotADirectoryError) as error:
        message = f"cannot write {path}: something else of that name is in the way"
        raise StoreError(message, hint="Move it away; ralph needs a directory there.") from error
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise TooManyFiles from error
        message = f"cannot write {path}: {error.strerror or error}"
        raise StoreError(
            message, hint="Free some space or make the folder writable; no work was lost."
        ) from error


def _has_no_descriptor_left() -> bool:
    """SQLite opens several files, closes them again if one fails, and does not say why."""
    opened: list[int] = []
    try:
        for _ in range(SQLITE_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def _explain(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    message, hint = f"cannot write {path}: {error}", ""
    match (getattr(error, "sqlite_errorname", "") or "").split("_")[1:2]:
        case ["NOTADB" | "CORRUPT"]:
            message = f"{path} is damaged: {error}"
            hint = DAMAGED
        case ["FULL"]:
            message = f"cannot write {path}: the disk is full"
            hint = "Free some space; no work was lost."
        case ["CANTOPEN"] if len(os.fsencode(path.absolute())) > LONGEST_PATH:
            message = f"the path of {path.name} is too long for SQLite ({LONGEST_PATH} bytes): {path}"
            hint = "Move the project to a place with a shorter path."
        case ["CANTOPEN"] if _has_no_descriptor_left():
            return TooManyFiles()
        case ["READONLY" | "CANTOPEN" | "PERM"]:
            hint = "Make the folder writable, or choose another with --project-dir."
        case ["INTERRUPT" | "TOOBIG"]:
            message = f"{path} holds more than ralph would write: {error}"
            hint = DAMAGED
        case ["IOERR"]:
            hint = "Check free space and the disk's health; no work was lost."
        case ["BUSY" | "LOCKED"]:
            message = f"{path} is locked by another process"
            hint = "Wait for it to finish, or look for a stuck ralph."
        case _:
            message, hint = f"{path}: {error}", "The agent's work is untouched."
    return StoreError(message, hint=hint)
