"""A record as plain files that can travel: packed into a folder, and unpacked into another record.

What only this machine knows stays here: processes, locks, worktrees, seals. The fleet commits a packed folder after every
iteration, `ralph export` puts one into an archive.
"""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.connection import maintain
from ralph.adapters.storage.database import (
    MIGRATIONS,
    open_database,
    open_state_database,
    store_errors,
    transaction,
)
from ralph.adapters.storage.places import RUNS, STATE_FOLDER
from ralph.adapters.storage.portable_arrival import Arrival, unpack_file
from ralph.adapters.storage.portable_events import pack_events
from ralph.adapters.storage.portable_files import (
    ROOMS,
    SHARED,
    PackedFiles,
    Parts,
    damaged,
    find_files,
    packed_files,
    packed_place,
)
from ralph.adapters.storage.portable_rows import TABLES, choose_rows, files_of, read_rows
from ralph.adapters.storage.request_marks import MOST_BYTES, REQUEST, read_request
from ralph.domain.loop.old_files import plain_name
from ralph.domain.text.masking import mask_all
from ralph.errors import DamagedRecord, StoreError
from ralph.values import dataclass

FORMAT = 1
MANIFEST = "manifest.json"
PLANNED = ("reviewed", "draft")
"""Kinds of loop that remember a plan."""


def pack(
    state_folder: Path,
    folder: Path,
    *,
    run_id: str | None = None,
    redact: Callable[[str], str] | None = None,
) -> None:
    """Make ``folder`` hold the record as it is now; what it holds of an earlier one is brought up to date.

    ``run_id``: only this run, the runs that it started, and their tasks. ``redact``: takes secrets out of what the record keeps
    with them for `ralph resume`. A run that is under way may go on meanwhile. Raises StoreError.
    """
    path = state_folder / "ralph.db"
    with store_errors(path):
        if beneath.status(path, state_folder) is None:
            message = f"there is no record in {state_folder}"
            raise StoreError(message, hint="start a run first, or choose another folder with --project-dir")
    packed = PackedFiles(folder)
    with closing(open_database(path)) as database, maintain(database, path):
        with store_errors(path):
            database.execute("BEGIN")  # all that follows is read as of one moment
            choose_rows(database, run_id)
            runs = dict(database.execute("SELECT id, profile FROM runs WHERE id IN portable_runs"))
        with store_errors(folder):
            for table in TABLES:
                for way, content in files_of(table, read_rows(database, table)):
                    packed.put(way, content)
            pack_events(database, folder, packed)
    with store_errors(folder):
        shared = [(name,) for name in SHARED] if run_id is None else _shared_of(state_folder, runs)
        found = find_files(state_folder, [*((RUNS, run) for run in runs), *shared])
        ways = {way for way in found if _pack_file(packed, state_folder, way, redact)}
        for way in _compressed_since(state_folder, runs, ways):
            _pack_file(packed, state_folder, way, redact)
        about = {"format": FORMAT, "ralph": _version(), "schema": len(MIGRATIONS), "runs": sorted(runs)}
        packed.put((MANIFEST,), json.dumps(about, indent=1).encode() + b"\n")
        packed.sweep(("tables", "events", *ROOMS))


def _shared_of(state_folder: Path, runs: Mapping[str, str]) -> Iterator[Parts]:
    """What one run needs of what all share: the plans, if it works on one, and the folder of its own task."""
    if any(profile in PLANNED for profile in runs.values()):
        yield ("plans",)
    for run in runs:
        match read_request(state_folder / RUNS / run, state_folder):
            case {"arguments": {"taskFolder": str(folder)}}:
                way = Path(folder).parts
                if way[:2] == (STATE_FOLDER, "tasks") and len(way) > 2:
                    yield way[1:]
            case _:
                pass


def _compressed_since(state_folder: Path, runs: Iterable[str], ways: set[Parts]) -> Iterator[Parts]:
    """Streams of a run under way that were found under their own names, and were gone when they were read."""
    for run in runs:
        folder = state_folder / RUNS / run
        with suppress(OSError):  # it has no folder
            for name in beneath.list_names(folder, state_folder):
                plain = plain_name(name)
                if plain == name or not ways.isdisjoint(((RUNS, run, name), (RUNS, run, plain))):
                    continue
                found = beneath.status(folder / name, state_folder)
                if found is not None and stat.S_ISREG(found.st_mode):  # an agent may have put anything there
                    yield RUNS, run, name


def _pack_file(
    packed: PackedFiles, state_folder: Path, way: Parts, redact: Callable[[str], str] | None
) -> bool:
    """False: it is no longer there, because its run is under way."""
    file, place = state_folder.joinpath(*way), packed_place(way)
    is_ours = way[0] == RUNS and len(way) == 3
    if is_ours and way[2] == REQUEST:
        content = read_request(file.parent, state_folder)
        if content:
            masked = content if redact is None else mask_all(content, redact)
            packed.put(place, json.dumps(masked, indent=1).encode() + b"\n")
        return True
    try:
        if is_ours and redact is not None and fnmatchcase(way[2], "prompt_*.txt"):
            text = beneath.read_plain(file, MOST_BYTES, state_folder).decode(errors="replace")
            packed.put(place, redact(text).encode())
        else:
            packed.put_file(place, file, state_folder)
    except FileNotFoundError:
        return False
    return True


def _version() -> str:
    """For people; what can be read is told by the schema."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ralph-harness")
    except PackageNotFoundError:  # run from a folder
        return "unknown"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Who packed a record, and what is in it."""

    ralph: str
    schema: int
    runs: tuple[str, ...]


def read_manifest(folder: Path) -> Manifest:
    """Raises StoreError unless it is a record that this version of ralph can read."""
    data = beneath.read_whole(folder / MANIFEST, 10_000_000, folder)
    try:
        about = json.loads(data or b"")
        known = (
            int(about["format"]),
            str(about["ralph"])[:50],
            int(about["schema"]),
            tuple(map(str, about["runs"])),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "this is no record that ralph has packed: its manifest is missing or damaged"
        raise DamagedRecord(message, hint="`ralph export RUN` writes one") from None
    made_as, version, schema, runs = known
    if made_as > FORMAT or schema > len(MIGRATIONS):
        message = f"the record was written by a newer ralph ({version}); this is {_version()}"
        raise StoreError(message, hint="upgrade ralph here")
    return Manifest(version, schema, runs)


def unpack(folder: Path, state_folder: Path) -> tuple[str, ...]:
    """Put a packed record into a state folder, and give the ids of its runs. Whoever calls this vouches for what it holds.

    A run that is there already must be the same. Files come first and all rows at once: whoever is killed in between has
    changed nothing that counts, and can do it again. Raises StoreError.
    """
    manifest = read_manifest(folder)
    path = state_folder / "ralph.db"
    with closing(open_state_database(state_folder)) as database:
        arrival = Arrival(database, folder, manifest.runs)
        with store_errors(path):
            new, is_fresh = arrival.new_runs(), arrival.is_fresh
        if not new and not (is_fresh and arrival.rows["tasks"]):
            return manifest.runs
        with store_errors(state_folder):
            for way, pieces in packed_files(folder):
                arrival.require_known(way)
                if way[0] != RUNS or way[1] in new:
                    unpack_file(way, pieces, folder, state_folder, may_replace=is_fresh or way[0] == RUNS)
        try:
            with store_errors(path), transaction(database):
                arrival.settle(arrival.new_runs())
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError | sqlite3.InterfaceError):
                raise damaged(str(error.__cause__)) from error
            raise
    return manifest.runs
