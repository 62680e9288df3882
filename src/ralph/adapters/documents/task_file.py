"""Reads a file of tasks, YAML or JSON, as plain values with the line of each; and writes one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ralph.domain.tasks.task import Task
from ralph.domain.text.reader import KeyPath, Problem
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.errors import UsageError
from ralph.patterns import pattern
from ralph.values import dataclass

LARGEST = 20_000_000
"""Bytes: ten thousand tasks with every role spelled out."""
MOST_VALUES = 2_000_000
"""A few lines of YAML can expand to more values than any memory holds."""


STDIN = "-"
_FENCED = pattern(r"(\s*)```[a-z]*\n(.*\n)```\s*", re.DOTALL)


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


def read_file(name: str) -> Document:
    """``-`` is standard input. Raises BadDocument, and UsageError if the file cannot be read."""
    return read_text(_text(_bytes(name)), is_json=name.lower().endswith(".json"))


def read_text(text: str, *, is_json: bool = False) -> Document:
    """JSON if it looks like it: its errors are clearer than YAML's about the same text."""
    if fenced := _FENCED.fullmatch(text):  # models add a fence even when asked not to
        text = f"{fenced[1]}\n{fenced[2]}"  # the fence's line stays: the others keep their numbers
    if not text.strip():
        message = "the file is empty"
        raise BadDocument(message)
    if is_json:
        return read_json(text)
    from ralph.adapters.documents.yaml_document import read_yaml  # loads a library that JSON does not need

    if text.lstrip()[0] not in "{[":
        return read_yaml(text)
    try:
        return read_json(text)
    except BadDocument as error:
        try:
            return read_yaml(text)  # YAML has lists and mappings in brackets, too
        except BadDocument:
            raise error from None


def _bytes(name: str) -> bytes:
    try:
        if name == STDIN:
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(LARGEST + 1)
    except FileNotFoundError:
        message = f"there is no file {name}"
        raise UsageError(message) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot read {name}: {reason}"
        raise UsageError(message) from None
    if len(data) > LARGEST:
        message = f"is larger than {LARGEST // 1_000_000} MB"
        raise BadDocument(message)
    return data


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "is not UTF-8 text"
        raise BadDocument(message, line=line) from None


def definition(task: Task) -> dict[str, Any]:
    """What one would write to add this task: no state, and nothing that is empty."""
    data = task.to_dict()
    spec = task.completion_spec
    entry: dict[str, Any] = {"id": task.id}
    for key in (
        "spec_id",
        "title",
        "description",
        "priority",
        "dependencies",
        "assignee",
        "base",
        "metadata",
    ):
        if data[key] not in ("", [], {}):
            entry[key] = data[key]
    if budget := {name: limit for name, limit in data["budget"].items() if limit is not None}:
        entry["budget"] = budget
    if spec is not None:
        completion = spec.to_dict()
        for role in spec.criteria:
            completion[role] = {key: value for key, value in completion[role].items() if value}
        entry["completion"] = completion
    return entry


def as_json(tasks: Sequence[Task]) -> str:
    return json.dumps({"tasks": [definition(task) for task in tasks]}, indent=2, ensure_ascii=False) + "\n"


def as_yaml(tasks: Sequence[Task]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as blocks, as a person would."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    value = {"tasks": [definition(task) for task in tasks]}
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
