"""A YAML or JSON document as plain values, and on which line each of them stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ralph.domain.tasks.entry_problems import KeyPath, Problem

LARGEST = 20_000_000
"""Bytes: ten thousand tasks with every role spelled out."""
DEEPEST = 64
MOST_VALUES = 2_000_000
"""A few lines of YAML can stand for more values than any memory holds."""


class BadDocument(ValueError):
    """It cannot be read at all. ``str()`` says what is wrong; ``line`` is None where that is not known."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """``value`` is made of dict, list, str, int, float, bool and None only; ``problems`` are keys that stand twice."""

    value: object
    line_of: Callable[[KeyPath], int]
    problems: tuple[Problem, ...] = ()


def check_values(value: object) -> None:
    """Refuses what could not be written as JSON again. Raises BadDocument."""
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if isinstance(one, dict | list):
            if depth >= DEEPEST:
                message = f"nested deeper than {DEEPEST} levels"
                raise BadDocument(message)
            children = one.values() if isinstance(one, dict) else one
            pending += [(child, depth + 1) for child in children if not isinstance(child, str)]
        elif isinstance(one, float) and not math.isfinite(one):
            message = "contains a number that is not finite"
            raise BadDocument(message)
