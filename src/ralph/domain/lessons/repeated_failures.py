"""Which failures came back in several runs: within one, the test that is being fixed fails again and again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ralph.domain.loop.evidence import without_passing
from ralph.patterns import pattern
from ralph.values import dataclass

LEAST_RUNS = 2
MOST = 10
"""Lessons at a time: agents read all of such a file before every task, and pay for it."""

_PLACE = pattern(r"^(?:[^\s:]+:\d+(?::\d+)?:?\s+)+")
_NUMBER = pattern(r"\d+")


class Seen(NamedTuple):
    """A check that denied the work of an iteration, and the first line of why."""

    run: str
    iteration: int
    check: str
    line: str


class Place(NamedTuple):
    run: str
    iteration: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """``line``: how it failed last, without where in which file. ``places``: the iterations, in order, each once."""

    check: str
    line: str
    places: tuple[Place, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(place.run for place in self.places))

    @property
    def is_repeated(self) -> bool:
        return len(self.runs) >= LEAST_RUNS


def lessons_of(seen: Iterable[Seen]) -> tuple[Lesson, ...]:
    """The failures that came back, the most frequent first; of equally many, the one seen last."""
    found: dict[tuple[str, str], tuple[str, dict[Place, None]]] = {}
    for one in seen:
        line = without_place(one.line)
        key = (one.check, print_of(line))
        _, places = found.pop(key, ("", {}))
        places[Place(one.run, one.iteration)] = None
        found[key] = line, places
    lessons = [Lesson(check, line, tuple(places)) for (check, _), (line, places) in reversed(found.items())]
    repeated = [lesson for lesson in lessons if lesson.is_repeated]
    return tuple(sorted(repeated, key=lambda one: -len(one.places))[:MOST])


def without_place(line: str) -> str:
    """``src/a.py:3:80: E501 too long`` → ``E501 too long``: a rule that is broken in many files is one lesson."""
    return _PLACE.sub("", line) or line


def print_of(line: str) -> str:
    """The same for lines that differ only in figures, durations and the like."""
    return _NUMBER.sub("0", without_passing(line)).casefold()
