"""Which items of a checklist wait for which: what they say themselves, and the order of a plan in phases."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from ralph.domain.tasks.circles import find_circles
from ralph.domain.text.reader import Problem
from ralph.domain.tickets.checklist_key import shape_of

_KEY = r"(?:[A-Za-z]{1,10}-?\d{1,6}[a-z]?(?:\.\d{1,4}){0,4}|\d{1,4}(?:\.\d{1,4}){0,5}|[a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){1,40})"
_NAMED = re.compile(
    rf"\b(?P<verb>depends\s+(?:up)?on|blocked\s+by|after|requires|needs|waits\s+for)\b[:\s]{{1,4}}"
    rf"(?P<keys>[*_`\[]{{0,3}}{_KEY}(?:[*_`\]]{{0,3}}\s{{0,3}}(?:,\s{{0,3}}(?:and\s{{1,3}})?|and\s{{1,3}}|&\s{{0,3}}|\+\s{{0,3}}"
    rf"|[-–—]\s{{0,3}}|(?:to|through)\s{{1,3}})[*_`\[]{{0,3}}{_KEY}){{0,50}})",  # noqa: RUF001
    re.IGNORECASE,
)
_ONE = re.compile(
    rf"(?P<range>[-–—]\s{{0,3}}|\b(?:to|through)\s{{1,3}})?[*_`\[]{{0,3}}(?P<key>{_KEY})",  # noqa: RUF001
    re.IGNORECASE,
)
_STRICT = ("depends", "blocked")
_DIGITS = re.compile(r"\d+")
MOST_SHOWN = 6
MOST_NAMED = 500
"""More than these an item does not wait for by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an open or ticked item stands. ``words``: in which it may name others. ``is_parallel``: spec-kit's [P]."""

    key: str
    line: int
    is_ticked: bool
    phase: int
    is_parallel: bool
    words: str


@dataclass(slots=True)
class Order:
    """Of each open item: the keys that it waits for."""

    blockers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def order_items(places: Sequence[Place], *, in_phases: bool) -> Order:
    """``in_phases``: items follow each other, those that are parallel together, and each phase follows the one before.

    Nothing is said twice: whoever waits for the last step waits for all before. What is ticked holds up nobody.
    """
    order = Order()
    keys = _Keys(places)
    open_ones = [place for place in places if not place.is_ticked]
    named = {place.key: _named_by(place, keys, order.problems) for place in open_ones}
    if in_phases:
        _follow(open_ones, named, order.blockers)
    else:
        order.blockers = {place.key: tuple(named[place.key]) for place in open_ones}
    order.problems += _circles(order.blockers, {place.key: place.line for place in places})
    return order


def _follow(
    open_ones: Sequence[Place], named: Mapping[str, Sequence[str]], blockers: dict[str, tuple[str, ...]]
) -> None:
    steps = list(_steps(open_ones))
    number_of = {place.key: number for number, step in enumerate(steps) for place in step}
    before: tuple[str, ...] = ()
    for number, step in enumerate(steps):
        inside = {place.key: [key for key in named[place.key] if number_of[key] == number] for place in step}
        for place in step:
            later = [key for key in named[place.key] if number_of[key] > number]  # a circle, which is told
            # Whoever waits for another of its own step waits for all before by that.
            blockers[place.key] = (*(inside[place.key] or before), *later)
        waited_for = {key for keys in inside.values() for key in keys}
        before = tuple(place.key for place in step if place.key not in waited_for) or before


def _steps(open_ones: Iterable[Place]) -> Iterator[list[Place]]:
    """Items that may run at the same time."""
    for (_, is_parallel), run in groupby(open_ones, key=lambda place: (place.phase, place.is_parallel)):
        if is_parallel:
            yield list(run)
        else:
            yield from ([place] for place in run)


# --- what they say themselves ---


class _Keys:
    """The keys of a file, in any case; those of a kind in the order of their numbers."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.by_key = {place.key.lower(): place for place in places}
        self.by_shape: dict[str, list[tuple[list[int], str]]] = {}
        for key in self.by_key:
            if shape := shape_of(key):
                self.by_shape.setdefault(shape, []).append((_numbers(key), key))
        for numbered in self.by_shape.values():
            numbered.sort()

    def between(self, first: str, last: str) -> list[str]:
        """``T003-T006``: those between, and the end."""
        numbered = self.by_shape.get(shape_of(last), [])
        low = bisect_right(numbered, _numbers(first), key=lambda one: one[0])
        high = bisect_left(numbered, _numbers(last), key=lambda one: one[0])
        return [key for _, key in numbered[low:high]] + [last]


def _named_by(place: Place, keys: _Keys, problems: list[Problem]) -> list[str]:
    """The open ones that it names. What looks like the ids of this file, and is none of them, is a mistake."""
    found: dict[str, None] = {}
    for key, is_strict in islice(_mentions(place.words, keys), MOST_NAMED):
        known = keys.by_key.get(key)
        if known is not None and (is_strict or not key.isdigit()):
            if not known.is_ticked:
                found[known.key] = None
        elif is_strict and shape_of(key) in keys.by_shape:
            message = f"{place.key} depends on {key.upper()}, which is not in this file"
            problems.append(Problem((), message, "correct the id, or remove it", f"line {place.line}"))
    return list(found)


def _mentions(words: str, keys: _Keys) -> Iterator[tuple[str, bool]]:
    """In lower case, and whether the words can mean nothing else: "after 3 attempts" is no dependency."""
    for said in _NAMED.finditer(words):
        is_strict = said["verb"].lower().startswith(_STRICT)
        last = ""
        for one in _ONE.finditer(said["keys"]):
            key = one["key"].lower()
            is_range = bool(one["range"]) and shape_of(key) != "" and shape_of(key) == shape_of(last)
            yield from ((other, is_strict) for other in (keys.between(last, key) if is_range else [key]))
            last = key


def _numbers(key: str) -> list[int]:
    return [int(digits) for digits in _DIGITS.findall(key)]


def _circles(blockers: Mapping[str, Sequence[str]], lines: Mapping[str, int]) -> Iterator[Problem]:
    for circle in find_circles(blockers):
        whole = [*circle, circle[0]]
        shown = whole if len(whole) <= MOST_SHOWN else [*whole[: MOST_SHOWN - 2], "…", whole[-1]]
        yield Problem(
            (),
            f"these tasks wait for each other: {' → '.join(shown)}"
            if len(circle) > 1
            else f"{circle[0]} waits for itself",
            "remove a dependency, or move a task behind those that it waits for",
            f"line {lines[circle[0]]}",
        )
