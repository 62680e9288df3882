"""Reads JSON strictly and says what is wrong and where, in our own words: Python's differ between releases."""

from __future__ import annotations

import functools
import json
import math
from typing import NoReturn

from ralph.domain.text.reader import KeyPath
from ralph.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

DEEPEST = 64
MOST_DIGITS = 4300
"""In a whole number: Python's own limit."""
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_SPACE = " \t\n\r"


class BadJson(ValueError):
    """``str()`` says what is wrong and, if known, at which line and column."""

    def __init__(self, message: str, line: int | None = None, column: int = 0) -> None:
        super().__init__(message if line is None else f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Repeated:
    """A key that appears twice in one object."""

    path: KeyPath
    line: int
    first_line: int


class Json:
    """``value`` is what was read. Lines are found only on request: most texts are right."""

    def __init__(self, text: str, value: object, *, repeats: bool) -> None:
        self.value = value
        self._text = text
        self._places: _Places | None = None
        self.repeated: tuple[Repeated, ...] = tuple(self._found.repeated) if repeats else ()

    def line_of(self, path: KeyPath) -> int:
        """Of the value, or of the nearest one around it."""
        lines = self._found.lines
        while path not in lines:
            path = path[:-1]
        return lines[path]

    @property
    def _found(self) -> _Places:
        if self._places is None:
            self._places = _walk(self._text)
        return self._places


def parse_json(text: str) -> Json:
    """The last of repeated keys counts. Raises BadJson."""
    text = text.removeprefix("\ufeff")  # some editors start a file with it
    repeats = False

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal repeats
        result = dict(found)
        repeats = repeats or len(result) != len(found)
        return result

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        _walk(text)  # finds the same thing, and says where
        message = "a number is too large"  # the only thing that a walk does not check
        raise BadJson(message) from None
    if _is_too_deep(value):
        _walk(text)
    return Json(text, value, repeats=repeats)


_TOO_DEEP = f"nested deeper than {DEEPEST} levels"


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number


def _is_too_deep(value: object) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


# --- token by token: where everything is, and what is wrong ---


@dataclass(frozen=True, slots=True)
class _Places:
    lines: dict[KeyPath, int]
    repeated: list[Repeated]


def _walk(text: str) -> _Places:
    """Raises BadJson at the first thing that is not JSON. No recursion."""
    places = _Places({}, [])
    path: list[str | int] = []  # of the value that comes next
    closers: list[str] = []  # of each open object and list
    expected = "value"
    is_first = False  # right after an opening bracket
    after_comma = False
    position, line = 0, 1
    while True:
        start = _skip_space(text, position)
        line += text.count("\n", position, start)
        word = _token(text, start)
        position = start + len(word)
        closer = closers[-1] if closers else ""
        if word == closer != "" and (expected == "comma" or is_first):
            closers.pop()
            path.pop()
            expected, is_first = "comma", False
        elif expected == "comma":
            if not closers:
                if start < len(text):
                    raise _bad(text, start, "more text after the end of the JSON")
                return places
            if word != ",":
                raise _unexpected(text, start, f"a comma or {closer}")
            expected = "name" if closer == "}" else "value"
            last = path[-1]
            path[-1] = last + 1 if isinstance(last, int) else last
            after_comma = True
            continue
        elif expected == "name":
            if not word.startswith('"'):
                raise _unexpected(
                    text, start, "a name in double quotes", closer=closer if after_comma else ""
                )
            path[-1] = json.loads(word)
            _take_name(places, tuple(path), line)
            expected, is_first = "colon", False
        elif expected == "colon":
            if word != ":":
                raise _unexpected(text, start, "a colon after the name")
            expected = "value"
        else:
            if word in ("", "}", "]", ",", ":"):
                raise _unexpected(text, start, "a value", closer=closer if after_comma else "")
            places.lines.setdefault(tuple(path), line)
            is_first = word in "{["
            if is_first:
                if len(closers) == DEEPEST:
                    raise _bad(text, start, _TOO_DEEP)
                closers.append("}" if word == "{" else "]")
                path.append(0)  # the first name takes its place in an object
            elif word[0] in "-0123456789":
                _check_number(text, start, word)
            expected = "comma" if not is_first else "name" if word == "{" else "value"
        after_comma = False


def _take_name(places: _Places, path: KeyPath, line: int) -> None:
    if path in places.lines:
        places.repeated.append(Repeated(path, line, places.lines[path]))
    places.lines[path] = line


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _token(text: str, start: int) -> str:
    """The token that starts there; empty if none does."""
    found = _patterns()[0].match(text, start)
    return found[0] if found else ""


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a token, and of a string up to its error; compiled only for an error or a line number."""
    import re

    escape = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
    plain = r'[^"\\\x00-\x1f]'
    return (
        re.compile(
            rf'"{plain}*(?:{escape}{plain}*)*"'
            r"|[{}\[\],:]|true|false|null"
            r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
        ),
        re.compile(rf'"{plain}*(?:{escape}{plain}*)*'),
    )


def _check_number(text: str, start: int, word: str) -> None:
    is_whole = not any(sign in word for sign in ".eE")
    if len(word) > MOST_DIGITS if is_whole else not math.isfinite(float(word)):
        raise _bad(text, start, f"the number {word[:40]}{'…' if len(word) > 40 else ''} is too large")


def _unexpected(text: str, start: int, expected: str, *, closer: str = "") -> BadJson:
    """``closer``: the bracket that must not come right after a comma."""
    found = text[start : start + 1]
    if not text.strip(_SPACE):
        return _bad(text, 0, "it is empty")
    if not found:
        return _bad(text, start, f"expected {expected}, but the text ends here")
    if closer and found == closer:
        return _bad(text, text.rindex(",", 0, start), f"remove this comma: {closer} follows it")
    if found == '"' and not _token(text, start):
        return _bad_string(text, start)
    if word := next((word for word in _CONSTANTS if text.startswith(word, start)), ""):
        return _bad(text, start, f"{word} is not JSON")
    if found in "/#":
        return _bad(text, start, "JSON has no comments: remove this one")
    return _bad(text, start, f"expected {expected}, found {found if found.isprintable() else repr(found)}")


def _bad_string(text: str, start: int) -> BadJson:
    good = _patterns()[1].match(text, start)
    end = good.end() if good else start
    if end == len(text):
        return _bad(text, start, "this text has no closing quote")
    if text[end] == "\\":
        return _bad(text, end, f"{text[end : end + 2]} is not an escape in JSON: write \\\\ for a backslash")
    if text[end] in "\n\r":
        return _bad(text, start, "this text has no closing quote on its line: write \\n for a line break")
    return _bad(text, end, f"{text[end]!r} cannot be part of a text: write \\u{ord(text[end]):04x}")


def _bad(text: str, position: int, message: str) -> BadJson:
    line = text.count("\n", 0, position) + 1
    return BadJson(message, line, position - text.rfind("\n", 0, position))
