"""Which items of a checklist wait for which: what they say themselves, and the order of a plan in phases."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice

from ralph.domain.tasks.circles import find_circles
from ralph.domain.text.reader import Problem
from ralph.domain.tickets.checklist_key import shape_of
from ralph.patterns import pattern
from ralph.values import dataclass, field

_KEY = r"(?:[A-Za-z]{1,10}-?\d{1,6}[a-z]?(?:\.\d{1,4}){0,4}|\d{1,4}(?:\.\d{1,4}){0,5}|[a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){1,40})"
_NAMED = pattern(
    rf"\b(?P<verb>depends\s+(?:up)?on|blocked\s+by|after|requires|needs|waits\s+for)\b[:\s]{{1,4}}"
    rf"(?P<keys>[*_`\[]{{0,3}}{_KEY}(?:[*_`\]]{{0,3}}\s{{0,3}}(?:,\s{{0,3}}(?:and\s{{1,3}})?|and\s{{1,3}}|&\s{{0,3}}|\+\s{{0,3}}"
    rf"|[-–—]\s{{0,3}}|(?:to|through)\s{{1,3}})[*_`\[]{{0,3}}{_KEY}){{0,50}})",  # noqa: RUF001
    re.IGNORECASE,
)
_ONE = pattern(
    rf"(?P<range>[-–—]\s{{0,3}}|\b(?:to|through)\s{{1,3}})?[*_`\[]{{0,3}}(?P<key>{_KEY})",  # noqa: RUF001
    re.IGNORECASE,
)
_STRICT = ("depends", "blocked")
# What looks like an id wherever it stands: ZZ-9, T001.
_ID = pattern(r"[A-Z]{1,10}-\d{1,6}|T\d{3,6}[a-z]?")
_ORDINARY = frozenset(
    ("aes", "covid", "crc", "cve", "ecma", "es", "gpt", "http", "ieee", "ipv", "iso", "java", "jdk", "md", "oauth", "pep",
     "posix", "rfc", "rsa", "sha", "tls", "usb", "utf")
)  # fmt: skip
"""What stands before a number in names of other things: UTF-8, SHA-256."""
_GOES_ON = pattern(r"[\w/-]|\.\w")
_ENDS = pattern(r"[*_`\])]*\s*(?:$|[).,;:!?])")
_DIGITS = pattern(r"\d+")
MOST_SHOWN = 6
MOST_NAMED = 500
"""More than these an item does not wait for by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an open or ticked item stands. ``words``: in which it may name others. ``is_parallel``: spec-kit's [P].

    ``ordinal``: its number in a list, if it has one.
    """

    key: str
    line: int
    is_ticked: bool
    phase: int
    is_parallel: bool
    words: str
    ordinal: str = ""


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
        places = list(places)
        self.by_key = {place.key.lower(): place for place in places}
        self.ordinals = {place.ordinal for place in places} - {""}
        self.by_shape: dict[str, list[tuple[list[int], str]]] = {}
        for key in self.by_key:
            if shape := shape_of(key):
                self.by_shape.setdefault(shape, []).append((_numbers(key), key))
        for numbered in self.by_shape.values():
            numbered.sort()

    def between(self, first: str, last: str) -> list[str]:
        """``T003-T006``: those between, and the end."""
        numbered = self.by_shape.get(shape_of(last.lower()), [])
        low = bisect_right(numbered, _numbers(first), key=lambda one: one[0])
        high = bisect_left(numbered, _numbers(last), key=lambda one: one[0])
        return [key for _, key in numbered[low:high]] + [last]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """``is_strict``: what is said can mean nothing else than a dependency: "after 3 attempts" is none.

    ``is_whole``: it is a word of its own. ``is_last``: and none follows that could make it an amount of something.
    """

    key: str
    is_strict: bool
    is_whole: bool
    is_last: bool


def _named_by(place: Place, keys: _Keys, problems: list[Problem]) -> list[str]:
    """The open ones that it names. What can only be meant as an id, and is none of this file, is a mistake."""
    found: dict[str, None] = {}
    for one in islice(_mentions(place.words, keys), MOST_NAMED):
        known = keys.by_key.get(one.key.lower())
        if known is not None and (one.is_strict or not one.key.isdigit()):
            if not known.is_ticked:
                found[known.key] = None
        elif one.key.isdigit() and one.is_strict and one.is_last and one.key in keys.ordinals:
            message = f"{place.key} depends on {one.key}, which is a place in a list and no id"
            hint = f"give that task an id, such as `A-{one.key}: …`, and name it by that"
            problems.append(Problem((), message, hint, f"line {place.line}"))
        elif _is_meant(one, keys):
            message = f"{place.key} depends on {one.key.upper()}, which is not in this file"
            problems.append(Problem((), message, "correct the id, or remove it", f"line {place.line}"))
    return list(found)


def _is_meant(one: _Mention, keys: _Keys) -> bool:
    """Whether it looks like the ids of this file, or like no ordinary word."""
    shape = shape_of(one.key)
    is_known = shape in keys.by_shape
    if not one.is_whole:
        return False
    if shape == ".":  # or a version, or an amount: "after 1.5 seconds"
        return (one.is_strict or is_known) and (one.is_last or (one.is_strict and is_known))
    return is_known or (_ID.fullmatch(one.key) is not None and shape.rstrip("-") not in _ORDINARY)


def _mentions(words: str, keys: _Keys) -> Iterator[_Mention]:
    for said in _NAMED.finditer(words):
        is_strict = said["verb"].lower().startswith(_STRICT)
        last = ""
        for one in _ONE.finditer(said["keys"]):
            key, is_end = one["key"], one.end() == len(said["keys"])
            shape = shape_of(key.lower())
            is_range = bool(one["range"]) and shape != "" and shape == shape_of(last)
            for other in keys.between(last, key) if is_range else [key]:
                yield _Mention(
                    key=other,
                    is_strict=is_strict,
                    is_whole=not (is_end and _GOES_ON.match(words, said.end())),
                    is_last=not is_end or _ENDS.match(words, said.end()) is not None,
                )
            last = key.lower()


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
