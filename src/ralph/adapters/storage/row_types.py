"""What each column of the record may hold. The schema says so too, but a file that somebody else wrote need not keep to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph.errors import StoreError

_TEXT = (
    "profile", "agent", "root", "options", "state", "reason", "assignment", "role", "kind", "workspace", "mode",
    "process_started", "boot_id", "host", "details", "request", "text", "spec_id", "status", "title", "description",
    "dependencies", "assignee", "metadata", "completion_spec", "stage", "progress", "method", "outcome",
    "decision", "needs_id", "branch", "delivered", "source", "key", "settled", "known", "holder",
)  # fmt: skip
_NAMES = ("id", "run_id", "parent_id", "task_id")
_WHOLE = (
    "iteration", "attempt", "claimed", "proven", "tokens", "seq", "pid", "taken_iteration", "number",
    "priority", "waits_for", "promise_found", "verified", "accepted", "iterations", "state_seq",
)  # fmt: skip
_MEASURES = (
    "started_at", "updated_at", "ended_at", "at", "since", "taken_at", "created_at", "seconds", "cost_usd",
)  # fmt: skip
_OPTIONAL = frozenset((
    "ended_at", "outcome", "decision", "reason", "claimed", "proven", "cost_usd", "taken_at",
    "taken_iteration", "completion_spec",
))  # fmt: skip
LONGEST_NAME = 200
LARGEST = 1e11
"""As a time it is the year 5138: later ones cannot be shown."""


def _is_anything(_value: object) -> bool:
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_name(value: object) -> bool:
    """Of a run or a task. It becomes part of a path."""
    return (
        isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable() and _is_one_part(value)
    )


def _is_one_part(name: str) -> bool:
    return "/" not in name and name not in (".", "..")


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _is_measure(value: object) -> bool:
    return isinstance(value, int | float) and -LARGEST < value < LARGEST


_RULES: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(_TEXT, _is_text),
    **dict.fromkeys(_NAMES, _is_name),
    **dict.fromkeys(_WHOLE, _is_whole),
    **dict.fromkeys(_MEASURES, _is_measure),
    **dict.fromkeys(("root", "workspace"), _is_path),
    "id": lambda value: value != "" and _is_name(value),
    "data": lambda value: isinstance(value, bytes),
}


def is_sound(column: str, value: object) -> bool:
    """Whether a column may hold this; of any other column, whatever SQLite takes."""
    rule = _RULES.get(column)
    return rule is None or rule(value) or (value is None and column in _OPTIONAL)


def check_rows(path: Path) -> Callable[[sqlite3.Cursor, tuple[Any, ...]], tuple[Any, ...]]:
    """A row factory: rows as they are. Raises StoreError if a value is not of its column's kind."""
    description: object = None
    rules: list[Callable[[object], bool]] = []

    def check(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal description, rules
        if cursor.description is not description:  # once for all rows of an answer, which may have thousands
            description = cursor.description
            rules = [_RULES.get(column, _is_anything) for column, *_ in description]
        for place, value in enumerate(row):
            if not rules[place](value):
                _require_sound(path, cursor.description[place][0], value)
        return row

    return check


def _require_sound(path: Path, column: str, value: object) -> None:
    if not is_sound(column, value):
        message = f"{path} is damaged: {column} of one of its rows is {repr(value)[:80]}"
        raise StoreError(message, hint="Move it (and its -wal and -shm files) away; a new one is made.")
