"""The console of a job as it happens: which lines of a sign of life are new, and how many were missed in between."""

from __future__ import annotations

from ralph.domain.fleet.shift import Beat
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """How far a reader is: in which shift, on which worker, and which line comes next there."""

    turn: int = -1
    worker: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """``missed``: lines before these that nobody told; the job's log has them. ``begins``: of another session."""

    lines: tuple[str, ...]
    missed: int
    place: Place
    begins: bool = False


def news_of(beat: Beat, place: Place) -> News:
    """A session that begins again counts its lines from zero, also one of the same shift on the same worker."""
    end = beat.first_line + len(beat.lines)
    begins = (beat.turn, beat.worker) != (place.turn, place.worker) or end < place.line
    seen = 0 if begins else place.line
    new = beat.lines[max(0, seen - beat.first_line) :]
    return News(new, max(0, beat.first_line - seen), Place(beat.turn, beat.worker, end), begins)
