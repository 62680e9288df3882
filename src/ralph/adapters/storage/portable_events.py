"""The events of a packed record: chunks that never change, so that one more iteration only adds one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.storage.portable_files import PackedFiles, Parts, damaged, find_packed, spread
from ralph.adapters.storage.portable_rows import EVENTS, Row, encode_row, read_rows
from ralph.errors import StoreError
from ralph.patterns import pattern
from ralph.values import dataclass

CHUNK = 4_000_000
MOST_LINES = 80_000_000
"""Bytes of one file of rows; ours are smaller, but one event may be large."""
_NAME = pattern(r"(\d{8})_(\d+)-(\d+)-(\d+)\.jsonl")
_COUNT = f"SELECT count(*) FROM events WHERE {EVENTS.belongs} AND seq <= ?"  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class Chunk:
    way: Parts
    first: int
    last: int
    count: int


def pack_events(database: sqlite3.Connection, folder: Path, packed: PackedFiles) -> None:
    chunks = _chunks_to_keep(database, folder)
    for chunk in chunks:
        packed.keep(chunk.way)
    number = len(chunks)
    for rows in _bundles(read_rows(database, EVENTS, chunks[-1].last if chunks else -1)):
        name = f"{number:08}_{rows[0][0]}-{rows[-1][0]}-{len(rows)}.jsonl"
        packed.put(("events", *spread(number), name), b"".join(line for _, line in rows))
        number += 1


def _bundles(rows: Iterator[Row]) -> Iterator[list[tuple[int, bytes]]]:
    """Numbers and lines, so many that a file of them is not too large."""
    bundle: list[tuple[int, bytes]] = []
    size = 0
    for row in rows:
        line = encode_row(row)
        if bundle and size + len(line) > CHUNK:
            yield bundle
            bundle, size = [], 0
        bundle.append((row["seq"], line))
        size += len(line)
    if bundle:
        yield bundle


def list_chunks(folder: Path) -> list[Chunk]:
    """In their order. Raises StoreError if one is missing."""
    found: list[Chunk] = []
    for way in find_packed(folder, "events"):
        match = _NAME.fullmatch(way[-1])
        if match is None or way[1:-1] != spread(int(match[1])) or int(match[1]) != len(found):
            what = "it is incomplete"
            raise damaged(what, way)
        found.append(Chunk(way, int(match[2]), int(match[3]), int(match[4])))
    return found


def _chunks_to_keep(database: sqlite3.Connection, folder: Path) -> list[Chunk]:
    """Events never change, so chunks that were packed before are right, unless they are of another record."""
    try:
        chunks = list_chunks(folder)
    except StoreError:
        return []
    if not chunks:
        return []
    last = chunks[-1]
    (count,) = database.execute(_COUNT, (last.last,)).fetchone()
    newest = read_rows(database, EVENTS, last.first - 1)
    same = b"".join(encode_row(row) for row, _ in zip(newest, range(last.count), strict=False))
    is_same = beneath.read_whole(folder.joinpath(*last.way), MOST_LINES, folder) == same
    return chunks if is_same and count == sum(chunk.count for chunk in chunks) else []
