"""Kinds of values a setting may have.

A kind reads a JSON value into a typed one, says what it expects, gives its JSON Schema, and parses the text of an
environment variable: one declaration, so these cannot disagree.
"""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, cast

from ralph.config.untrusted import NEVER, Untrusted
from ralph.domain.text.masking import mask_values
from ralph.domain.text.reader import KeyPath, Problem, nearest, spell
from ralph.domain.text.secret_names import looks_secret
from ralph.patterns import pattern
from ralph.values import MISSING, Field, field, fields

T = TypeVar("T")
S = TypeVar("S", bound=str)

_WHOLE = pattern(r"[+-]?[0-9]{1,18}")
_VARIABLE_NAME = r"^[^=\u0000]+$"
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


# Named tuples, because every start of ralph makes hundreds of them.
class Reading(NamedTuple):
    """Where in the settings a value is, and the lists that collect what is wrong with it."""

    source: Callable[[KeyPath], str]
    problems: list[Problem]
    warnings: list[Problem]
    complete: bool = True  # a single layer is not: another may have what it lacks
    path: KeyPath = ()

    def inside(self, step: str | int) -> Reading:
        return self._replace(path=(*self.path, step))

    def wrong(self, message: str, hint: str = "") -> Any:
        self.problems.append(Problem(self.path, message, hint, self.source(self.path)))
        return None

    def doubt(self, message: str, hint: str = "") -> None:
        self.warnings.append(Problem(self.path, message, hint, self.source(self.path)))

    def unexpected(self, value: object, expected: str, hint: str = "", *, secret: bool = False) -> Any:
        if value is None and not hint:
            hint = "leave the key out to get the default"
        return self.wrong(f"expected {expected}, found {self.shown(value, secret=secret)}", hint)

    def shown(self, value: object, *, secret: bool = False) -> str:
        secret = secret or any(isinstance(step, str) and looks_secret(step) for step in self.path)
        return describe(mask_values(value), secret=secret)


def describe(value: object, *, secret: bool = False) -> str:
    """A value in a few words."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if secret and value is not None:
        return {str: "a string", bool: "a boolean"}.get(type(value), "a number")
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return "text that begins with { but is not valid JSON"  # whole objects may hold secrets
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:50] + '…"'


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class Kind(ABC, Generic[T]):
    """What all kinds can do."""

    expected: str = ""

    @abstractmethod
    def read(self, value: object, at: Reading) -> T:
        """The typed value. If it is wrong, ``at`` collects the problem and the result means nothing."""

    @abstractmethod
    def json_schema(self) -> dict[str, object]: ...

    def parse(self, text: str) -> object:
        """The JSON value of an environment variable's text; text of the wrong form stays text."""
        return text

    def dump(self, value: T) -> object:
        return value


class Text(Kind[str]):
    def __init__(self, *, filled: bool = False) -> None:
        self.filled = filled
        self.expected = "a string that is not empty" if filled else "a string"

    def read(self, value: object, at: Reading) -> str:
        if not isinstance(value, str):
            hint = "write it in quotes" if isinstance(value, int | float) else ""
            return cast(str, at.unexpected(value, self.expected, hint))
        if self.filled and not value.strip():
            return cast(str, at.unexpected(value, self.expected))
        if not _can_be_passed_on(value):
            return cast(str, at.wrong("contains a character that cannot be passed to a program", "remove it"))
        return value

    def json_schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": r"\S"} if self.filled else {"type": "string"}


class Program(Text):
    """A program by name or path. No shell reads it, so ``~`` is expanded here."""

    def read(self, value: object, at: Reading) -> str:
        command = super().read(value, at)  # None: it was no text
        return command and os.path.expanduser(command)  # noqa: PTH111 pathlib would drop a leading ./


def _can_be_passed_on(text: str) -> bool:
    """A NUL byte or half a surrogate pair would fail hours later, when a process starts with it."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


class Whole(Kind[int]):
    def __init__(self, *, minimum: int) -> None:
        self.minimum = minimum
        self.expected = f"a whole number of at least {minimum}"

    def read(self, value: object, at: Reading) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            return cast(int, at.unexpected(value, self.expected, _unquote_hint(value)))
        if value < self.minimum:
            return cast(int, at.unexpected(value, self.expected))
        return value

    def json_schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.minimum}

    def parse(self, text: str) -> object:
        return int(text) if _WHOLE.fullmatch(text.strip()) else text


class Limit(Kind[float | None]):
    """An amount, by default of seconds; None for no limit."""

    def __init__(self, *, unit: str = "seconds", zero_is_off: bool = False) -> None:
        self.zero_is_off = zero_is_off
        self.expected = f"a number of {unit} {'(0 or null' if zero_is_off else 'above 0 (null'}: no limit)"

    def read(self, value: object, at: Reading) -> float | None:
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            return cast(None, at.unexpected(value, self.expected, _unquote_hint(value)))
        try:
            seconds = float(value)
        except OverflowError:  # a whole number with hundreds of digits
            seconds = math.inf
        if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not self.zero_is_off):
            return cast(None, at.unexpected(value, self.expected))
        return seconds or None

    def json_schema(self) -> dict[str, object]:
        return {"type": ["number", "null"], "minimum" if self.zero_is_off else "exclusiveMinimum": 0}

    def parse(self, text: str) -> object:
        if text.strip() in ("", "null"):
            return None
        try:
            return float(text)
        except ValueError:
            return text

    def dump(self, value: float | None) -> object:
        return int(value) if value is not None and value.is_integer() else value


def _unquote_hint(value: object) -> str:
    return "write it without quotes" if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) else ""


class YesNo(Kind[bool]):
    expected = "true or false"

    def read(self, value: object, at: Reading) -> bool:
        if not isinstance(value, bool):
            hint = "write it without quotes" if value in ("true", "false") else ""
            return cast(bool, at.unexpected(value, self.expected, hint))
        return value

    def json_schema(self) -> dict[str, object]:
        return {"type": "boolean"}

    def parse(self, text: str) -> object:
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text


class Choice(Kind[S]):
    """One of a few words. ``any_case``: case does not matter. ``also``: older names, accepted but not offered."""

    def __init__(self, *words: S, any_case: bool = False, also: tuple[S, ...] = ()) -> None:
        self.words = words
        self.also = also
        self.any_case = any_case
        self.expected = "one of " + ", ".join(words)

    def read(self, value: object, at: Reading) -> S:
        if isinstance(value, str):
            wanted = value.strip().upper() if self.any_case else value
            for word in (*self.words, *self.also):
                if wanted == (word.upper() if self.any_case else word):
                    return word
            close = nearest(value, list(self.words))
            hint = f'did you mean "{close}"?' if close else ""
            return cast(S, at.unexpected(value, self.expected, hint))
        return cast(S, at.unexpected(value, self.expected))

    def json_schema(self) -> dict[str, object]:
        exact: dict[str, object] = {"enum": [str(word) for word in (*self.words, *self.also)]}
        if not self.any_case:
            return exact
        # The words come first because editors offer those.
        spelled = "|".join("".join(f"[{c.upper()}{c.lower()}]" for c in word) for word in self.words)
        return {"anyOf": [exact, {"type": "string", "pattern": rf"^\s*({spelled})\s*$"}]}

    def dump(self, value: S) -> object:
        return str(value)


class Nullable(Kind[T | None]):
    def __init__(self, kind: Kind[T]) -> None:
        self.kind = kind
        self.expected = f"{kind.expected}, or null"

    def read(self, value: object, at: Reading) -> T | None:
        return None if value is None else self.kind.read(value, at)

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [self.kind.json_schema(), {"type": "null"}]}

    def parse(self, text: str) -> object:
        return None if text.strip() in ("", "null") else self.kind.parse(text)

    def dump(self, value: T | None) -> object:
        return None if value is None else self.kind.dump(value)


class ListOf(Kind[tuple[T, ...]]):
    """``shell_words``: entries are split later as a shell would, so words from a text stay quoted."""

    def __init__(self, kind: Kind[T], *, of: str, shell_words: bool = False) -> None:
        self.kind = kind
        self.shell_words = shell_words
        self.expected = f"a list of {of}"

    def read(self, value: object, at: Reading) -> tuple[T, ...]:
        if not isinstance(value, list):
            hint = "put it in [ ]" if isinstance(value, str | Mapping) else ""
            return cast("tuple[T, ...]", at.unexpected(value, self.expected, hint))
        return tuple(self.kind.read(item, at.inside(index)) for index, item in enumerate(value))

    def json_schema(self) -> dict[str, object]:
        return {"type": "array", "items": self.kind.json_schema()}

    def parse(self, text: str) -> object:
        if text.lstrip().startswith("["):
            return _json_or_text(text)
        if not isinstance(self.kind, Text):
            return text
        import shlex

        try:
            words = shlex.split(text)
        except ValueError:
            return text
        return [shlex.quote(word) for word in words] if self.shell_words else words

    def dump(self, value: tuple[T, ...]) -> object:
        return [self.kind.dump(item) for item in value]


STRINGS = ListOf(Text(filled=True), of="strings")
PROGRAMS = ListOf(Program(filled=True), of="strings")
COUNT = Nullable(Whole(minimum=1))


class JsonKind(Kind[T]):
    """An environment variable gives it as JSON."""

    def parse(self, text: str) -> object:
        return _json_or_text(text)


class Variables(JsonKind[Mapping[str, str]]):
    """Environment variables: names and values."""

    expected = "an object of strings"
    _text = Text()

    def read(self, value: object, at: Reading) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            return cast("Mapping[str, str]", at.unexpected(value, self.expected, secret=True))
        read: dict[str, str] = {}
        for name, text in value.items():
            if not name or "=" in name or not _can_be_passed_on(name):
                at.inside(name).wrong("cannot be the name of a variable", "rename it")
            read[name] = self._text.read(text, at.inside(name))
        return read

    def json_schema(self) -> dict[str, object]:
        return {
            "type": "object",
            "propertyNames": {"pattern": _VARIABLE_NAME},
            "additionalProperties": self._text.json_schema(),
        }

    def dump(self, value: Mapping[str, str]) -> object:
        return dict(value)


class FreeObject(JsonKind[Mapping[str, object]]):
    """An object whose content is checked elsewhere."""

    expected = "an object"

    def read(self, value: object, at: Reading) -> Mapping[str, object]:
        if not isinstance(value, Mapping):
            return cast("Mapping[str, object]", at.unexpected(value, self.expected))
        return value

    def json_schema(self) -> dict[str, object]:
        return {"type": "object"}

    def dump(self, value: Mapping[str, object]) -> object:
        return dict(value)


class Number(JsonKind[float]):
    """A number of at least ``minimum``."""

    def __init__(self, *, minimum: float = 0.0) -> None:
        self._minimum = minimum
        self.expected = f"a number of at least {minimum:g}"

    def read(self, value: object, at: Reading) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= self._minimum:
            return cast(float, at.unexpected(value, self.expected, _unquote_hint(value)))
        if value == float("inf"):
            return cast(float, at.unexpected(value, self.expected))
        return float(value)

    def json_schema(self) -> dict[str, object]:
        return {"type": "number", "minimum": self._minimum}


class Named(JsonKind[Mapping[str, T]]):
    """An object with an entry of one kind for each name that a user chose; ``names``: the kind of the names."""

    def __init__(self, kind: Kind[T], *, names: Text | None = None) -> None:
        self.kind = kind
        self.names = names or Text()
        self.expected = f"an object with {kind.expected} for each name"

    def read(self, value: object, at: Reading) -> Mapping[str, T]:
        if not isinstance(value, Mapping):
            return cast("Mapping[str, T]", at.unexpected(value, self.expected))
        return {
            self.names.read(name, at.inside(name)): self.kind.read(entry, at.inside(name))
            for name, entry in value.items()
        }

    def json_schema(self) -> dict[str, object]:
        names = self.names.json_schema()
        checked = {"propertyNames": names} if "pattern" in names else {}
        return {"type": "object", **checked, "additionalProperties": self.kind.json_schema()}

    def dump(self, value: Mapping[str, T]) -> object:
        return {name: self.kind.dump(entry) for name, entry in value.items()}


def _json_or_text(text: str) -> object:
    from ralph.domain.text.strict_json import parse_json

    try:
        return parse_json(text).value
    except ValueError:
        return text


NO_WORDS: Mapping[object, str] = MappingProxyType({})


def setting(
    kind: Kind[T],
    default: T,
    doc: str,
    *,
    required: bool = False,
    untrusted: Untrusted = NEVER,
    means: str = "",
    says: Mapping[object, str] = NO_WORDS,
) -> T:
    """Declare a field of a table. ``required``: the table makes no sense without it.

    ``untrusted``: which values a repository may give it before its user has trusted it. ``means``: what any other value
    does, for the question, read aloud before the value; empty: "sets", and its name. ``says``: whole sentences for values
    that make none.
    """
    metadata = {
        "kind": kind,
        "doc": doc,
        "required": required,
        "untrusted": untrusted,
        "means": means,
        "says": says,
    }
    if isinstance(default, dict):  # always the empty one
        return cast(T, field(default_factory=dict, metadata=metadata))
    return field(default=default, metadata=metadata)


class Setting(NamedTuple):
    """One declared field: ``name`` as in Python, ``key`` as on disk."""

    name: str
    key: str
    kind: Kind[Any]
    default: Any
    doc: str
    required: bool
    untrusted: Untrusted
    means: str
    says: Mapping[object, str] = NO_WORDS

    @property
    def has_default(self) -> bool:
        """False where the default is only the absence of a value."""
        return not (isinstance(self.kind, Text) and self.kind.filled and not self.default)


def _default(declared: Field[Any]) -> Any:
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


class Table(JsonKind[T]):
    """An object with known keys, read into a dataclass whose fields were declared with ``setting``.

    ``short``: the key that a text alone is the value of.
    """

    def __init__(self, cls: type[T], *, also_allowed: frozenset[str] = frozenset(), short: str = "") -> None:
        self.cls = cls
        self.short = short
        self.also_allowed = also_allowed
        self.expected = "an object"
        self._settings: tuple[Setting, ...] | None = None

    @property
    def settings(self) -> tuple[Setting, ...]:
        if self._settings is None:
            self._settings = tuple(
                Setting(name=each.name, key=camel(each.name), default=_default(each), **each.metadata)
                for each in fields(self.cls)  # type: ignore[arg-type]
            )
        return self._settings

    def kind_of(self, name: str) -> Kind[Any]:
        """The kind of the field that has this name in Python."""
        return next(setting.kind for setting in self.settings if setting.name == name)

    @property
    def doc(self) -> str:
        return (self.cls.__doc__ or "").strip()

    def full(self, value: object) -> object:
        """What is written short, as the object it stands for."""
        return {self.short: value} if self.short and isinstance(value, str) else value

    def read(self, value: object, at: Reading) -> T:
        value = self.full(value)
        if not isinstance(value, Mapping):
            return at.unexpected(value, self.expected, self._as_object(value, at))  # type: ignore[no-any-return]
        values: dict[str, Any] = {}
        for setting in self.settings:
            if setting.key in value:
                values[setting.name] = setting.kind.read(value[setting.key], at.inside(setting.key))
            elif setting.required and at.complete:
                at.inside(setting.key).wrong("is missing", f"give it {setting.kind.expected}")
        self._doubt_unknown(value, at)
        return self.cls(**values)

    def _as_object(self, value: object, at: Reading) -> str:
        """Whoever writes a string where an object has a command means the command."""
        if not isinstance(value, str) or not any(setting.key == "command" for setting in self.settings):
            return ""
        shown = at.shown(value)
        return f'write {{"command": {shown}}}' if value.strip() and shown.startswith('"') else ""

    def _doubt_unknown(self, value: Mapping[str, object], at: Reading) -> None:
        known = {setting.key for setting in self.settings} | self.also_allowed
        for key in value:
            if key not in known:
                at.inside(key).doubt("unknown key, ignored", self._suggestion(key, at.path))

    def _suggestion(self, key: str, path: KeyPath) -> str:
        # Perhaps the key is right but one level too high.
        for setting in self.settings:
            inner = setting.kind.kind if isinstance(setting.kind, Nullable) else setting.kind
            if isinstance(inner, Table) and any(key == below.key for below in inner.settings):
                return f"did you mean {spell((*path, setting.key, key))}?"
        close = nearest(key, [setting.key for setting in self.settings])
        return f"did you mean {spell((*path, close))}?" if close else ""

    def json_schema(self) -> dict[str, object]:
        properties: dict[str, object] = {key: {} for key in sorted(self.also_allowed)}
        for setting in self.settings:
            schema = {"description": setting.doc, **setting.kind.json_schema()}
            if setting.has_default and not setting.required:
                schema["default"] = setting.kind.dump(setting.default)
            properties[setting.key] = schema
        required = [setting.key for setting in self.settings if setting.required]
        result: dict[str, object] = {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
        result |= {"required": required} if required else {}
        if not self.short:
            return result
        short = next(setting for setting in self.settings if setting.key == self.short)
        return {"anyOf": [short.kind.json_schema(), result]}

    def dump(self, value: T) -> object:
        return {
            setting.key: setting.kind.dump(getattr(value, setting.name))
            for setting in self.settings
            if setting.has_default or getattr(value, setting.name) != setting.default
        }
