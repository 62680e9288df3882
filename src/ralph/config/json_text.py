"""Reads JSON strictly: where it breaks, which keys stand twice, and no nesting without end."""

from __future__ import annotations

import json
from typing import NoReturn

from ralph.config.problems import KeyPath

DEEPEST = 64


class BadJson(ValueError):
    """``str()`` says what is wrong and, where it is known, at which line and column."""


class _Object(dict[str, object]):
    """Remembers which keys stood twice; where the object itself stands is only known when all is read."""

    repeated: tuple[str, ...] = ()


def parse_json(text: str) -> tuple[object, list[KeyPath]]:
    """The value, of plain dicts and lists, and the keys that stood twice. Raises BadJson."""
    try:
        raw = json.loads(text, object_pairs_hook=_remember_repeated, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        what = "the file is empty" if not text.strip() else error.msg[:1].lower() + error.msg[1:]
        message = f"line {error.lineno}, column {error.colno}: {what}"
        raise BadJson(message) from error
    except RecursionError as error:
        raise BadJson(_TOO_DEEP) from error
    except BadJson:
        raise
    except ValueError as error:  # a number of thousands of digits
        message = str(error).lower()
        raise BadJson(message) from error
    duplicates: list[KeyPath] = []
    return _plain(raw, (), duplicates), duplicates


_TOO_DEEP = f"nested deeper than {DEEPEST} levels"


def _remember_repeated(pairs: list[tuple[str, object]]) -> _Object:
    result = _Object(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        result.repeated = tuple(key for key in result if keys.count(key) > 1)
    return result


def _refuse_constant(word: str) -> NoReturn:
    message = f"{word} is not JSON"
    raise BadJson(message)


def _plain(value: object, path: KeyPath, duplicates: list[KeyPath]) -> object:
    if len(path) > DEEPEST:
        raise BadJson(_TOO_DEEP)
    if isinstance(value, _Object):
        duplicates.extend((*path, key) for key in value.repeated)
        return {key: _plain(item, (*path, key), duplicates) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, (*path, index), duplicates) for index, item in enumerate(value)]
    return value
