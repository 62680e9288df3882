"""YAML, read from its events: depth and size are bounded for any file, and every value knows its line.

Plain scalars follow YAML 1.2: ``no``, ``010`` and ``1:30`` are text.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import yaml

from ralph.adapters.documents.task_file import MOST_VALUES, BadDocument, Document, repeated_key
from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.strict_json import DEEPEST
from ralph.patterns import pattern
from ralph.values import dataclass, field

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where it was built
_PREFIX = "tag:yaml.org,2002:"
_MERGE = "<<"
_HINTS = {
    "found character '\\t' that cannot start any token": "tabs cannot indent YAML: use spaces",
    "found character that cannot start any token": "tabs cannot indent YAML, and @ and ` need quotes",
    "mapping values are not allowed": "a text with a colon needs quotes",
}
_INT = pattern(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = pattern(r"[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d+)([eE][-+]?\d+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class _Place(NamedTuple):
    """``inside``: the places of a mapping's or list's values."""

    line: int
    inside: dict[str | int, _Place] | None = None


class _Part(NamedTuple):
    """A value, how many values it consists of, and where it is."""

    value: object
    size: int
    place: _Place


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read."""

    line: int
    is_list: bool
    anchor: str | None
    items: list[object] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    merged: list[_Part] = field(default_factory=list)
    places: dict[str | int, _Place] = field(default_factory=dict)
    size: int = 1
    key: str | None = None
    key_line: int = 0
    is_merge: bool = False

    @property
    def awaits_key(self) -> bool:
        return not self.is_list and self.key is None


def read_yaml(text: str) -> Document:
    """One document. Raises BadDocument."""
    composer = _Composer()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            composer.take(event)
    except yaml.YAMLError as error:
        raise _explain(error) from None
    if composer.root is None:
        message = "the file is empty"
        raise BadDocument(message)
    root = composer.root
    return Document(root.value, lambda path: _line_of(root.place, path), tuple(composer.problems))


class _Composer:
    """Builds values from events, without recursion."""

    def __init__(self) -> None:
        self.root: _Part | None = None
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Part] = {}

    def take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.DocumentStartEvent() if self.root is not None:
                raise _bad(_line(event), "a second document begins here: put all tasks into one list")
            case _:
                pass

    def _scalar(self, event: Any) -> None:
        line = _line(event)
        if self._open and self._open[-1].awaits_key:
            if event.anchor:
                self._anchors[event.anchor] = _Part(event.value, 1, _Place(line))
            self._key(self._open[-1], event.value, line)
            self._open[-1].is_merge = (
                event.value == _MERGE and event.implicit[0]
            )  # in quotes it is a key like any other
            return
        if event.tag:
            value = _read_tagged(event)
        else:
            value = plain_value(event.value) if event.implicit[0] else event.value
        self._close(_Part(value, 1, _Place(line)), event.anchor)

    def _key(self, parent: _Open, key: str, line: int) -> None:
        """A key is its text, whatever YAML might make of it: ``on``, ``1``, ``null``."""
        if key in parent.values:
            self.problems.append(repeated_key((*self._path(), key), parent.places[key].line))
        parent.key, parent.key_line = key, line

    def _alias(self, event: Any) -> None:
        part = self._anchors.get(event.anchor)
        if part is None:
            raise _bad(_line(event), f"*{event.anchor}: no complete &{event.anchor} comes before it")
        if self._open and self._open[-1].awaits_key:
            if not isinstance(part.value, str):
                raise _bad(_line(event), f"*{event.anchor} is not text and cannot be a key")
            self._key(self._open[-1], part.value, _line(event))
            self._open[-1].is_merge = False
            return
        self._close(part, None)

    def _begin(self, event: Any) -> None:
        is_list = isinstance(event, yaml.SequenceStartEvent)
        line = _line(event)
        if event.tag and event.tag not in (f"{_PREFIX}seq", f"{_PREFIX}map", "!"):
            raise _bad(line, f"the tag {event.tag} is not allowed")
        if len(self._open) >= DEEPEST:
            raise _bad(line, f"nested deeper than {DEEPEST} levels")
        if self._open and self._open[-1].awaits_key:
            raise _bad(line, "a list or mapping cannot be a key")
        self._open.append(_Open(line, is_list, event.anchor))

    def _end(self) -> None:
        done = self._open.pop()
        listed = _Part(done.items, done.size, _Place(done.line, done.places))
        self._close(listed if done.is_list else _merge_into(done), done.anchor)

    def _close(self, part: _Part, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = part
        if not self._open:
            self.root = part
            return
        parent = self._open[-1]
        parent.size += part.size
        if parent.size > MOST_VALUES:
            raise _bad(part.place.line, f"expands to more than {MOST_VALUES:,} values")
        if parent.is_list:
            parent.places[len(parent.items)] = part.place
            parent.items.append(part.value)
            return
        key, parent.key = parent.key or "", None
        if parent.is_merge:
            parent.merged.append(part)
            return
        parent.values[key] = part.value
        parent.places[key] = _Place(parent.key_line, part.place.inside)

    def _path(self) -> KeyPath:
        """Of the innermost list or mapping that is open."""
        return tuple(len(part.items) if part.is_list else part.key or "" for part in self._open[:-1])


def _merge_into(done: _Open) -> _Part:
    """``<<: *defaults``: what the mapping says itself wins, then the mapping that is merged first."""
    values: dict[str, object] = {}
    places: dict[str | int, _Place] = {}
    for part in done.merged:
        several = part.value if isinstance(part.value, list) else [part.value]
        for index, one in enumerate(several):
            if not isinstance(one, dict):
                raise _bad(part.place.line, "<< takes a mapping, or a list of mappings")
            inside = part.place.inside or {}
            source = (inside[index].inside or {}) if isinstance(part.value, list) else inside
            values = one | values
            places = source | places
    return _Part(values | done.values, done.size, _Place(done.line, places | done.places))


def _read_tagged(event: Any) -> object:
    kind = event.tag.removeprefix(_PREFIX)
    value = plain_value(event.value)
    types = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
    if kind in ("str", "!"):
        return event.value
    if kind in types and isinstance(value, types[kind]):
        return value
    raise _bad(_line(event), f"the tag {event.tag} is not allowed")


def _line_of(place: _Place, path: KeyPath) -> int:
    """Of the value, or else of the innermost value around it."""
    line = place.line
    for step in path:
        following = (place.inside or {}).get(step)
        if following is None:
            return line
        place, line = following, following.line
    return line


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _bad(line: int, message: str) -> BadDocument:
    return BadDocument(message, line=line)


def _explain(error: yaml.YAMLError) -> BadDocument:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = (getattr(error, name, None) for name in ("problem", "context", "reason"))
    message = str(next(filter(None, what), "is not YAML"))
    if hint := next((hint for begin, hint in _HINTS.items() if message.startswith(begin)), ""):
        message += f" ({hint})"
    if mark is None:
        return BadDocument(message)
    return BadDocument(f"column {mark.column + 1}: {message}", line=mark.line + 1)


def plain_value(text: str) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
            return number
    return text
