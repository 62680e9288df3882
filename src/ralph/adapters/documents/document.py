"""A YAML or JSON document as plain values, and the line of each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.strict_json import BadJson, parse_json

LARGEST = 20_000_000
"""Bytes: ten thousand tasks with every role spelled out."""
MOST_VALUES = 2_000_000
"""A few lines of YAML can stand for more values than any memory holds."""


class BadDocument(ValueError):
    """It cannot be read at all. ``str()`` says what is wrong; ``line`` is None where that is not known."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """``value`` is made of dict, list, str, int, float, bool and None only; ``problems`` are keys that appear twice."""

    value: object
    line_of: Callable[[KeyPath], int]
    problems: tuple[Problem, ...] = ()


def repeated_key(path: KeyPath, first_line: int) -> Problem:
    return Problem(path, f"appears twice, first on line {first_line}")


def read_json(text: str) -> Document:
    """Raises BadDocument."""
    try:
        found = parse_json(text)
    except BadJson as error:
        place = f"column {error.column}: " if error.line is not None else ""
        message = f"{place}{error.message}"
        raise BadDocument(message, line=error.line) from None
    problems = tuple(repeated_key(one.path, one.first_line) for one in found.repeated)
    return Document(found.value, found.line_of, problems)
