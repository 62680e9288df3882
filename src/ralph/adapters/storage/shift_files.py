"""The two files between a worker and the ralph that does a shift for it: what it is told, and how the shift ended.

A shift that ended has one of: an ``outcome`` (the run has ended), a ``want`` (it was handed over), or neither (nothing
counts: the command was wrong or could not run here; ``reason``, ``hint`` and ``exit_code`` say why). A ralph that was
killed leaves no end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from ralph.adapters import beneath
from ralph.adapters.files import read_whole, write_atomic
from ralph.domain.fleet.shift import ShiftEnd
from ralph.domain.fleet.terms import ShiftTerms
from ralph.errors import StoreError

ORDER = "order.json"
END = "end.json"
MOST_BYTES = 4_000_000

T = TypeVar("T")


def write_terms(folder: Path, terms: ShiftTerms) -> None:
    """For a shift that has not begun: what an earlier one left there is removed."""
    beneath.remove(folder / END, folder)
    write_atomic(folder / ORDER, msgspec.json.encode(terms))


def read_terms(folder: Path) -> ShiftTerms:
    return _read(folder / ORDER, ShiftTerms)


def write_end(folder: Path, end: ShiftEnd) -> None:
    write_atomic(folder / END, msgspec.json.encode(end))


def read_end(folder: Path) -> ShiftEnd | None:
    """None: there is none."""
    file = folder / END
    return _read(file, ShiftEnd) if file.exists() else None


def _read(file: Path, kind: type[T]) -> T:
    data = read_whole(file, MOST_BYTES)
    try:
        return msgspec.json.decode(data or b"", type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        message = f"{file} cannot be read: {error}"
        raise StoreError(message, hint="it is written by `ralph fleet worker`") from error
