"""Where a clone stands, and the note of it beside the clone, by which the next shift on this machine need not fetch it again."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.seats.objects import Entry
from ralph.adapters.seats.record import MOST_BYTES, JobRecord
from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``record``: the commit on the remote that the clone is exactly; empty: of a new job. ``root``: what that commit has."""

    record: str
    job: JobRecord
    root: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """``base``: the commit that the clone was given as its base."""

    repository: str
    base: str
    standing: Standing


def read_note(file: Path, repository: str) -> Note | None:
    """None: there is none, or it is of another repository."""
    import msgspec

    data = beneath.read_whole(file, MOST_BYTES)
    try:
        note = None if data is None else msgspec.json.decode(data, type=Note)
    except msgspec.DecodeError:
        return None
    return note if note is not None and note.repository == repository else None


def keep_note(file: Path, note: Note) -> None:
    import msgspec

    beneath.write_atomic(file, msgspec.json.encode(note))
