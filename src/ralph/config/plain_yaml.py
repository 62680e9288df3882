"""YAML as texts, lists and mappings, with the line of each key: nothing is a number or a truth before somebody asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ralph.domain.text.reader import KeyPath
from ralph.values import dataclass, field

DEEPEST = 20
MOST_VALUES = 5_000


class BadYaml(ValueError):
    """``line``: of the text."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class PlainYaml(NamedTuple):
    """``repeated``: keys that appear twice; the last one counts."""

    values: Mapping[str, object]
    lines: Mapping[KeyPath, int]
    repeated: tuple[KeyPath, ...] = ()


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read."""

    path: KeyPath
    items: list[object] | None
    values: dict[str, object] = field(default_factory=dict)
    key: str | None = None


def read_plain_yaml(text: str) -> PlainYaml:
    """One mapping, from its events and without recursion: depth and size are bounded. Raises BadYaml."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    composer = _Composer()
    try:
        for event in yaml.parse(text, Loader=loader):
            composer.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or "it cannot be read"
        raise BadYaml(str(said), 1 if mark is None else mark.line + 1) from None
    if not isinstance(composer.root, dict):
        message = "expected keys and values"
        raise BadYaml(message, 1)
    return PlainYaml(composer.root, composer.lines, tuple(composer.repeated))


class _Composer:
    """Builds lists and mappings of texts. Anchors and tags have no use here, and many ways to do harm."""

    def __init__(self) -> None:
        self.root: object = None
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[KeyPath] = []
        self._open: list[_Open] = []
        self._count = 0

    def take(self, event: Any) -> None:
        import yaml

        match event:
            case yaml.ScalarEvent():
                self._add(str(event.value), event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event, is_list=isinstance(event, yaml.SequenceStartEvent))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case yaml.AliasEvent():
                message = "references (*name) are not supported here"
                raise BadYaml(message, _line(event))
            case _:
                pass

    def _begin(self, event: Any, *, is_list: bool) -> None:
        if len(self._open) >= DEEPEST:
            message = f"nested deeper than {DEEPEST} levels"
            raise BadYaml(message, _line(event))
        if self._open and self._open[-1].items is None and self._open[-1].key is None:
            message = "a list or mapping cannot be a key"
            raise BadYaml(message, _line(event))
        path = self._path()
        new = _Open(path, [] if is_list else None)
        self._add(new.values if new.items is None else new.items, event)
        self._open.append(new)

    def _path(self) -> KeyPath:
        """Of what is read next."""
        if not self._open:
            return ()
        parent = self._open[-1]
        return (*parent.path, len(parent.items) if parent.items is not None else parent.key or "")

    def _add(self, value: object, event: Any) -> None:
        self._count += 1
        if self._count > MOST_VALUES:
            message = f"more than {MOST_VALUES:,} values"
            raise BadYaml(message, _line(event))
        if not self._open:
            self.root = value
            return
        parent = self._open[-1]
        if parent.items is not None:
            parent.items.append(value)
        elif parent.key is None:
            self._name(parent, str(value), _line(event))
        else:
            parent.values[parent.key], parent.key = value, None

    def _name(self, parent: _Open, key: str, line: int) -> None:
        parent.key = key
        path = (*parent.path, key)
        if key in parent.values:
            self.repeated.append(path)
        self.lines[path] = line


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
