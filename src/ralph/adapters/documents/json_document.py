"""JSON, strictly. Lines are looked for only once somebody asks: most files are right."""

from __future__ import annotations

import functools
import json
import re
from typing import NoReturn

from ralph.adapters.documents.document import BadDocument, Document, check_values
from ralph.domain.tasks.entry_problems import KeyPath, Problem

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+')


def read_json(text: str) -> Document:
    """Raises BadDocument."""
    repeated: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(found)
        if len(result) != len(found):
            repeated.append("")
        return result

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        message = f"column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        raise BadDocument(message, line=error.lineno) from None
    except RecursionError:
        message = "nested too deeply"
        raise BadDocument(message) from None
    except BadDocument:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise BadDocument(str(error)) from None
    check_values(value)

    @functools.cache
    def places() -> _Places:
        return _Places(text)

    problems = tuple(places().repeated) if repeated else ()
    return Document(value, lambda path: places().line_of(path), problems)


def _refuse(word: str) -> NoReturn:
    message = f"{word} is not JSON"
    raise BadDocument(message)


class _Places:
    """Where every value of a valid JSON text stands."""

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {(): 1}
        self.repeated: list[Problem] = []
        self._walk(text)

    def line_of(self, path: KeyPath) -> int:
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _walk(self, text: str) -> None:
        line = 1
        path: list[str | int] = []  # of the value that comes next
        is_key: list[bool] = []  # for each open object or list: whether a key comes next
        started = False
        for word in _TOKEN.findall(text):
            if word == "\n":
                line += 1
                continue
            if not started:
                self._lines[()] = line
                started = True
            if word in "{[":
                self._lines.setdefault(tuple(path), line)
                is_key.append(word == "{")
                path.append(0)  # an object's first key takes its place
            elif word in "}]":
                is_key.pop()
                path.pop()
            elif word == ",":
                last = path[-1]
                if isinstance(last, int):
                    path[-1] = last + 1
                else:
                    is_key[-1] = True
            elif word == ":":
                is_key[-1] = False
            elif is_key and is_key[-1]:
                path[-1] = json.loads(word)
                self._take_key(tuple(path), line)
            else:
                self._lines.setdefault(tuple(path), line)

    def _take_key(self, path: KeyPath, line: int) -> None:
        if path in self._lines:
            message = f"stands twice, first on line {self._lines[path]}"
            self.repeated.append(Problem(path, message))
        self._lines[path] = line
