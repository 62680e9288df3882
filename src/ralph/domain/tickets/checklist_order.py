"""Which items of a checklist wait for which: what they say themselves, and the order of a plan in phases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

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
    rf"(?P<range>[-–—]\s{{0,3}}|\b(?:to|through)\s{{1,3}})?[*_`\[]{{0,3}}(?P<key>{_KEY})", re.IGNORECASE
)  # noqa: RUF001
_STRICT = ("depends", "blocked")
_DIGITS = re.compile(r"\d+")
MOST_SHOWN = 6


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
    keys = {place.key.lower(): place for place in places}
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


def _named_by(place: Place, keys: Mapping[str, Place], problems: list[Problem]) -> list[str]:
    """The open ones that it names. What looks like the ids of this file, and is none of them, is a mistake."""
    shapes = {shape_of(key) for key in keys} - {""}
    found: dict[str, None] = {}
    for said in _NAMED.finditer(place.words):
        is_strict = said["verb"].lower().startswith(_STRICT)
        last = ""
        for one in _ONE.finditer(said["keys"]):
            key = one["key"].lower()
            ends_range = bool(one["range"]) and shape_of(key) == shape_of(last)
            for other in _between(last, key, keys) if ends_range else [key]:
                if (known := keys.get(other)) is not None:
                    if not known.is_ticked:
                        found[known.key] = None
                elif is_strict and shape_of(other) in shapes:
                    problems.append(
                        Problem(
                            (),
                            f"{place.key} depends on {one['key']}, which is not in this file",
                            "correct the id, or remove it",
                            f"line {place.line}",
                        )
                    )
            last = key
    return list(found)


def _between(first: str, last: str, keys: Mapping[str, Place]) -> list[str]:
    """``T003-T006``: those that there are, and the end of the range, which must be there."""
    low, high = _numbers(first), _numbers(last)
    shape = shape_of(last)
    return [key for key in keys if shape_of(key) == shape and low < _numbers(key) < high] + [last]


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
