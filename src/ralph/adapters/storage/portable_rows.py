"""Rows of the record as lines of JSON and back: which tables travel, which of their rows belong to a run, and how they are
spread over files."""

from __future__ import annotations

import base64
import binascii
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from ralph.adapters.storage.portable_files import Parts, spread
from ralph.values import dataclass

Row = dict[str, Any]

OWNERS = ("pid", "process_started", "boot_id", "host")
"""Of a run: which process of which machine has it."""
COLUMNS_LEFT = {"runs": OWNERS, "tasks": ("waits_for",)}
"""Known here alone, or counted from the rest."""
TABLES_LEFT = {
    "claims": "which process of this machine holds a working tree",
    "task_claims": "which process of this machine works on a task",
    "task_dependencies": "made by triggers from what tasks say",
    "ticket_holder": "what this machine calls itself on trackers",
    "sqlite_sequence": "SQLite's own",
}

_OF_TASKS = "task_id IN (SELECT id FROM portable_tasks)"
_OF_RUNS = "run_id IN (SELECT id FROM portable_runs)"


@dataclass(frozen=True, slots=True)
class Table:
    """``belongs``: which rows travel with a run. ``order``: of its rows. ``number``: a column that counts, if the table grows
    with each iteration: so many of its rows, ``each``, are in one file, those of one ``owner`` apart."""

    name: str
    belongs: str
    order: str
    number: str = ""
    each: int = 1
    owner: str = ""


TABLES = (
    Table("runs", "id IN (SELECT id FROM portable_runs)", "id"),
    Table("iterations", _OF_RUNS, "run_id, iteration, attempt", "iteration", 10, "run_id"),
    Table("controls", _OF_RUNS, "seq", "seq", 50),
    Table("tasks", "id IN (SELECT id FROM portable_tasks)", "number", "number", 50),
    Table("task_events", _OF_TASKS, "seq", "seq", 50),
    Table("verifications", _OF_TASKS, "seq", "seq", 50),
    Table("task_stages", _OF_TASKS, "seq", "seq", 50),
    Table("task_removals", "EXISTS (SELECT 1 FROM portable_whole)", "seq", "seq", 50),
    Table("deliveries", _OF_RUNS, "branch"),
    Table("tickets", _OF_TASKS, "source, key"),
)
"""In the order in which they can be filled. The events come last, and are in chunks of their own."""
EVENTS = Table("events", _OF_RUNS, "seq", "seq")

# A run of `ralph work` is about all tasks; any other about its own, and what those need.
_CHOOSE = (
    "CREATE TEMP TABLE portable_runs (id TEXT PRIMARY KEY)",
    "CREATE TEMP TABLE portable_tasks (id TEXT PRIMARY KEY COLLATE NOCASE)",
    "CREATE TEMP TABLE portable_whole (one INTEGER)",
)
_RUN_AND_CHILDREN = """INSERT INTO portable_runs
    WITH RECURSIVE line (id) AS (SELECT ? UNION SELECT runs.id FROM runs JOIN line ON runs.parent_id = line.id AND line.id <> '')
    SELECT runs.id FROM line JOIN runs ON runs.id = line.id"""
_IS_WORK = """SELECT 1 FROM runs WHERE id IN (SELECT id FROM portable_runs) AND profile = 'verified'
    AND coalesce(json_extract(options, '$.task'), '') = ''"""
_TASKS = """INSERT INTO portable_tasks
    WITH RECURSIVE line (id) AS (
        SELECT json_extract(options, '$.task') FROM runs WHERE profile = 'verified' AND id IN (SELECT id FROM portable_runs)
        UNION SELECT needs_id FROM task_dependencies JOIN line ON task_id = line.id)
    SELECT DISTINCT tasks.id FROM line JOIN tasks ON tasks.id = line.id"""


def choose_rows(database: sqlite3.Connection, run_id: str | None) -> None:
    """Notes in tables of this connection alone what travels. None: everything."""
    for statement in _CHOOSE:
        database.execute(statement)
    if run_id is None:
        database.execute("INSERT INTO portable_runs SELECT id FROM runs")
    else:
        database.execute(_RUN_AND_CHILDREN, (run_id,))
    if run_id is None or database.execute(_IS_WORK).fetchone():
        database.execute("INSERT INTO portable_tasks SELECT id FROM tasks")
        database.execute("INSERT INTO portable_whole VALUES (1)")
    else:
        database.execute(_TASKS)


def columns_of(database: sqlite3.Connection, table: str) -> Mapping[str, str]:
    """The columns that travel, with their types."""
    rows = database.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
    return {str(name): str(kind) for name, kind in rows if name not in COLUMNS_LEFT.get(table, ())}


def read_rows(database: sqlite3.Connection, table: Table, after: int | None = None) -> Iterator[Row]:
    """``after``: only those with a larger number."""
    columns = columns_of(database, table.name)
    # Nobody else reads the tokens of an iteration that has none: the connection would take them for damage.
    chosen = ", ".join(f"{name} AS used" if name == "tokens" else name for name in columns)
    query = f"SELECT {chosen} FROM {table.name} WHERE {table.belongs}"  # noqa: S608 - our own words
    values: tuple[int, ...] = ()
    if after is not None:
        query, values = f"{query} AND {table.number} > ?", (after,)
    for row in database.execute(f"{query} ORDER BY {table.order}", values):
        yield dict(zip(columns, row, strict=True))


def files_of(table: Table, rows: Iterator[Row]) -> Iterator[tuple[Parts, bytes]]:
    """Those that a table becomes, and what is in them."""

    def place(row: Row) -> Parts:
        if not table.number:
            return ("tables", f"{table.name}.jsonl")
        number = row[table.number] // table.each
        owner = (row[table.owner],) if table.owner else ()
        return ("tables", table.name, *owner, *spread(number), f"{number:08}.jsonl")

    for way, group in groupby(rows, place):
        yield way, b"".join(map(encode_row, group))


def encode_row(row: Row) -> bytes:
    return msgspec.json.encode({name: _sent(value) for name, value in row.items()}) + b"\n"


def _sent(value: object) -> object:
    """Bytes are JSON nearly always: as text they can be read, and compress well."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def decode_rows(data: bytes, columns: Mapping[str, str]) -> Iterator[Row]:
    """Raises ValueError, with words, for whatever ``encode_row`` does not write."""
    if data and not data.endswith(b"\n"):
        message = "its last line is cut short"
        raise ValueError(message)
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            yield {name: _received(value, columns[name]) for name, value in row.items()}
        except KeyError as error:
            message = f"line {number} has a column {error} that this version of ralph does not know"
            raise ValueError(message) from None
        except (msgspec.MsgspecError, ValueError, RecursionError, binascii.Error) as error:
            message = f"line {number} cannot be read: {error}"
            raise ValueError(message) from None


def _received(value: object, kind: str) -> object:
    if kind == "BLOB":
        match value:
            case str():
                return value.encode()
            case {"base64": str(text)}:
                return base64.b64decode(text, validate=True)
            case _:
                pass
    elif isinstance(value, str | int | float | None) and not isinstance(value, bool):
        return value
    message = "a value is of the wrong kind"
    raise ValueError(message)


def insert(database: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Rows may lack columns that have a default: an earlier version did not know them."""

    def names_of(row: Row) -> tuple[str, ...]:
        return tuple(row)

    for names, group in groupby(rows, names_of):
        marks = ", ".join("?" * len(names))
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - columns that the schema has
        database.executemany(sql, [tuple(row.values()) for row in group])
