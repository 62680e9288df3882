"""Reading a file of tasks, and writing one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ralph.adapters.documents.document import LARGEST, BadDocument, Document, read_json
from ralph.domain.tasks.task import Task
from ralph.errors import UsageError

STDIN = "-"
_FENCED = re.compile(r"(\s*)```[a-z]*\n(.*\n)```\s*", re.DOTALL)


def read_file(name: str) -> Document:
    """YAML or JSON, whatever the name says; ``-`` is standard input. Raises BadDocument, and UsageError if there is
    no such file."""
    return read_text(_text(_bytes(name)), is_json=name.lower().endswith(".json"))


def read_text(text: str, *, is_json: bool = False) -> Document:
    """JSON if it begins like it, or must be: its errors are clearer than YAML's about the same text."""
    if fenced := _FENCED.fullmatch(text):  # models put one around it even when asked not to
        text = f"{fenced[1]}\n{fenced[2]}"  # the fence's line stays, so that the others keep their numbers
    if not text.strip():
        message = "the file is empty"
        raise BadDocument(message)
    if is_json:
        return read_json(text)
    from ralph.adapters.documents.yaml_document import read_yaml  # a library to load: JSON needs none

    if text.lstrip()[0] not in "{[":
        return read_yaml(text)
    try:
        return read_json(text)
    except BadDocument as error:
        try:
            return read_yaml(text)  # which has lists and mappings in brackets too
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
    """What somebody would have to write to make this task: no state, and nothing that is empty."""
    data = task.to_dict()
    spec = task.completion_spec
    entry: dict[str, Any] = {"id": task.id}
    for key in ("spec_id", "title", "description", "priority", "dependencies", "assignee", "metadata"):
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
        """Texts of several lines as blocks, as a person would write them."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    value = {"tasks": [definition(task) for task in tasks]}
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
