"""Rows and files of a packed record on their way into another."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.connection import Connection
from ralph.adapters.storage.places import RUNS
from ralph.adapters.storage.portable_events import MOST_LINES, list_chunks
from ralph.adapters.storage.portable_files import Parts, damaged, find_packed
from ralph.adapters.storage.portable_rows import TABLES, Row, Table, columns_of, decode_rows, insert
from ralph.adapters.storage.request_marks import MOST_BYTES, REQUEST, read_request, with_mark
from ralph.adapters.storage.row_types import is_sound
from ralph.domain.holder import NOBODY
from ralph.errors import StoreError

KEYS = {
    "runs": ("id",),
    "tasks": ("id", "number"),
    "deliveries": ("branch", "run_id"),
    "tickets": ("source", "key", "task_id"),
}
"""What a row must have to be put anywhere; of the other tables, the run, the task and the number."""
_WAITS = """UPDATE tasks SET waits_for = (
        SELECT count(*) FROM json_each(tasks.dependencies) AS needed
        WHERE NOT EXISTS (SELECT 1 FROM tasks AS other WHERE other.id = needed.value AND other.status = 'done')
    ) WHERE dependencies <> '[]'"""


class Arrival:
    """Rows on their way into a record."""

    def __init__(self, database: Connection, folder: Path, runs: Collection[str]) -> None:
        self._database = database
        self._folder = folder
        self.rows: dict[str, list[Row]] = {table.name: [] for table in TABLES}
        names = {table.name for table in TABLES}
        for way in find_packed(folder, "tables"):
            name = way[1].removesuffix(".jsonl")
            if name not in names:
                what = f"it has a table {name[:80]!r} that this version of ralph does not know"
                raise damaged(what)
            self.rows[name] += self._read(way, name)
        if {row.get("id") for row in self.rows["runs"]} != set(runs):
            what = "its runs are not those that its manifest names"
            raise damaged(what)

    @property
    def is_fresh(self) -> bool:
        """Nothing is on record here yet."""
        found = self._database.execute("SELECT 1 FROM runs UNION SELECT 1 FROM tasks").fetchone()
        return found is None

    def new_runs(self) -> frozenset[str]:
        """Raises StoreError if one is here already, and another one by now."""
        new = set()
        for row in self.rows["runs"]:
            given = {name: value for name, value in row.items() if name != "state_seq"}
            here = self._one("runs", given, "id")
            if here is None:
                new.add(row["id"])
            elif here != given:
                message = f"run {row['id']} is on record here already, and not as it was when it was packed"
                raise StoreError(
                    message, hint=f"to take it from there: `ralph runs rm {row['id']}`, then again"
                )
        return frozenset(new)

    def require_known(self, way: Parts) -> None:
        if way[0] == RUNS and all(row["id"] != way[1] for row in self.rows["runs"]):
            what = f"it has files of a run {way[1][:80]!r} that it does not have"
            raise damaged(what)

    def settle(self, new: Collection[str]) -> None:
        """In a transaction."""
        after = self._last("events")
        runs = [row for row in self.rows["runs"] if row["id"] in new]
        owner = asdict(NOBODY)
        insert(
            self._database,
            "runs",
            [{**row, "state_seq": row.get("state_seq", 0) + after, **owner} for row in runs],
        )
        tasks = self._new_tasks()
        for table in TABLES[1:]:
            insert(self._database, table.name, list(self._shifted(table, self._kept(table, new, tasks))))
        for chunk in list_chunks(self._folder):
            rows = [row for row in self._read(chunk.way, "events") if row.get("run_id") in new]
            insert(self._database, "events", [{**row, "seq": row["seq"] + after} for row in rows])
        self._database.execute(_WAITS)

    def _kept(self, table: Table, runs: Collection[str], tasks: Collection[str]) -> Iterator[Row]:
        for row in self.rows[table.name]:
            match table.name:
                case "tasks":
                    is_new = row["id"].lower() in tasks
                case "task_removals":
                    is_new = True
                case "deliveries":
                    here = self._one("deliveries", row, "branch")
                    is_new = row["run_id"] in runs and here is None
                    if here not in (None, row):
                        message = f"the branch {row['branch']} is delivered by another run here"
                        raise StoreError(message, hint="import the run into another clone")
                case _ if "task_id" in row:
                    is_new = row["task_id"].lower() in tasks
                case _:
                    is_new = row["run_id"] in runs
            if is_new:
                yield row

    def _new_tasks(self) -> frozenset[str]:
        """Raises StoreError if one of that name is here, and another one."""
        new = set()
        for row in self.rows["tasks"]:
            given = {name: value for name, value in row.items() if name != "number"}
            here = self._one("tasks", given, "id")
            if here is None:
                new.add(row["id"].lower())
            elif here != given:
                message = f"task {row['id']} is on record here already, and is another one"
                raise StoreError(
                    message,
                    hint=f"remove it (`ralph task rm {row['id']}`), or import the run into another clone",
                )
        return frozenset(new)

    def _shifted(self, table: Table, rows: Iterable[Row]) -> Iterator[Row]:
        """With numbers after those that are here."""
        column = "number" if table.name == "tasks" else "seq"
        if column not in columns_of(self._database, table.name):
            yield from rows
            return
        after = self._last(table.name, column)
        yield from ({**row, column: row[column] + after} for row in rows)

    def _last(self, table: str, column: str = "seq") -> int:
        (last,) = self._database.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()  # noqa: S608
        return int(last)

    def _one(self, table: str, like: Row, key: str) -> Row | None:
        """The row here with the same key, as far as ``like`` goes."""
        query = f"SELECT {', '.join(like)} FROM {table} WHERE {key} = ?"  # noqa: S608 - columns that the schema has
        found = self._database.execute(query, (like[key],)).fetchone()
        return None if found is None else dict(zip(like, found, strict=True))

    def _read(self, way: Parts, table: str) -> list[Row]:
        """Raises StoreError for whatever could not be in a record."""
        data = beneath.read_whole(self._folder.joinpath(*way), MOST_LINES, self._folder)
        if data is None:
            what = f"{'/'.join(way)} cannot be read, or is too large"
            raise damaged(what)
        known = columns_of(self._database, table)
        needed = KEYS.get(table) or [name for name in known if name in ("run_id", "task_id", "seq")]
        try:
            rows = list(decode_rows(data, known))
        except ValueError as error:
            what = f"{'/'.join(way)}: {error}"
            raise damaged(what) from None
        for row in rows:
            lacks = [name for name in needed if name not in row]
            # What may not be missing, SQLite knows.
            wrong = [name for name, value in row.items() if value is not None and not is_sound(name, value)]
            if lacks or wrong:
                what = f"{'/'.join(way)}: {(lacks or wrong)[0]} of one of its rows cannot be right"
                raise damaged(what)
        return rows


def unpack_file(
    way: Parts, pieces: list[Path], folder: Path, state_folder: Path, *, may_replace: bool
) -> None:
    target = state_folder.joinpath(*way)
    if len(way) == 3 and way[0] == RUNS and way[2] == REQUEST:
        content = read_request(pieces[0].parent, folder)
        text = json.dumps(with_mark(content, target.parent), indent=1) + "\n"
        beneath.make_folder(target.parent, state_folder)
        beneath.write_atomic(target, text, state_folder)
        return
    if beneath.status(target, state_folder) is not None:
        if not may_replace and not _is_same(target, pieces, state_folder, folder):
            message = f"{target} is there already, and is not the one that was packed"
            raise StoreError(message, hint="move it away, or import the run into another clone")
        beneath.remove(target, state_folder)
    with beneath.open_new(target, state_folder, mode=0o600) as file:
        for piece in pieces:
            with beneath.open_plain(piece, folder) as source:
                while chunk := source.read(1_000_000):
                    file.write(chunk)
                time = os.fstat(source.fileno()).st_mtime_ns
        file.flush()
        os.utime(file.fileno(), ns=(time, time))


def _is_same(target: Path, pieces: list[Path], state_folder: Path, folder: Path) -> bool:
    def whole(files: list[Path], top: Path) -> bytes:
        return b"".join(beneath.read_plain(file, MOST_BYTES, top) for file in files)

    return whole([target], state_folder) == whole(pieces, folder)
