"""Where settings come from: the two files, the environment, flags. Each becomes layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralph.config.kinds import Kind, Named, Nullable, Table, Variables, camel
from ralph.config.layers import Layer, Origin
from ralph.config.schema import SETTINGS
from ralph.domain.text.reader import Problem, nearest
from ralph.domain.text.strict_json import BadJson, parse_json

SETTINGS_FILE = ".ralph/settings.json"
LOCAL_FILE = ".ralph/settings.local.json"

PREFIX = "RALPH_"
RESERVED = frozenset(
    {
        "RALPH_RUN_ID",
        "RALPH_SPAWN_ID",
        "RALPH_PARENT_RUN_ID",
        "RALPH_PROJECT_ID",
        "RALPH_TASK_ID",
        "RALPH_ITERATION",
        "RALPH_MAX_ITERATIONS",
        "RALPH_ATTEMPT",
        "RALPH_ROLE",
        "RALPH_SANDBOX",
    }
)
"""What agents are told by ralph; a ralph inside an agent inherits them. Never settings."""

Flag = tuple[tuple[str, ...], object, str]
"""A setting given on the command line: ``(("agent", "command"), "claude", "--agent")``."""


def read_file(root: Path, name: str, problems: list[Problem], warnings: list[Problem]) -> Layer | None:
    """The layer of one file; None if there is no such file or it cannot be used, which ``problems`` tells."""
    file = root / name
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            problems.append(Problem((), "is not a regular file", "remove it", name))
            return None
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        problems.append(Problem((), "is a directory, not a file", "remove it", name))
        return None
    except OSError as error:
        message = f"cannot be read: {(error.strerror or str(error)).lower()}"
        problems.append(Problem((), message, "check its permissions", name))
        return None
    try:
        found = parse_json(_decode(data))
    except BadJson as error:
        problems.append(Problem((), f"not valid JSON: {error}", where=name))
        return None
    except UnicodeError as error:
        problems.append(Problem((), str(error), "save it as UTF-8", name))
        return None
    if not isinstance(found.value, dict):
        hint = "begin it with { and end it with }"
        problems.append(Problem((), "expected an object at the top", hint, name))
        return None
    for path in dict.fromkeys(one.path for one in found.repeated):
        warnings.append(Problem(path, "appears twice, the last one counts", "remove one", name))
    return Layer(Origin(name), found.value)


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"line {line}, column {column}: not UTF-8 (byte 0x{data[error.start]:02x})"
        raise UnicodeError(message) from error


def read_environment(environ: Mapping[str, str], warnings: list[Problem]) -> list[Layer]:
    """A layer for each variable; the more specific one wins, whatever the order they were set in."""
    layers: list[tuple[int, str, Layer]] = []
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in RESERVED:
            continue
        target = _target(name)
        source = f"environment {name}"
        if target is None:
            close = nearest(name, list(environment_names()))
            hint = f"did you mean {close}?" if close else ""
            warnings.append(Problem((), "no setting has this name, ignored", hint, source))
            continue
        path, parse = target
        layers.append((len(path), name, Layer(Origin(source), _nested(path, parse(text)))))
    return [layer for _, _, layer in sorted(layers, key=lambda entry: entry[:2])]


def read_flags(flags: Sequence[Flag]) -> list[Layer]:
    return [Layer(Origin(label), _nested(path, value)) for path, value, label in flags]


def environment_names() -> Iterator[str]:
    """All variables that are settings, except those inside free-form objects."""

    def below(table: Table[Any], prefix: str) -> Iterator[str]:
        for setting in table.settings:
            name = prefix + setting.name.upper()
            yield name
            inner = _inner(setting.kind)
            if isinstance(inner, Table):
                yield from below(inner, f"{name}__")

    return below(SETTINGS, PREFIX)


def _inner(kind: Kind[Any]) -> Kind[Any]:
    return kind.kind if isinstance(kind, Nullable) else kind


def _target(name: str) -> tuple[tuple[str, ...], Callable[[str], object]] | None:
    """The setting that a variable is, and how its text is read."""
    words = name.removeprefix(PREFIX).split("__")
    kind: Kind[Any] = SETTINGS
    path: tuple[str, ...] = ()
    while words:
        table = _inner(kind)
        if isinstance(table, Variables):
            # The rest is a variable's own name, which may hold "__" itself.
            return (*path, "__".join(words)), str
        if not isinstance(table, Table | Named) or not words[0]:
            return None
        if isinstance(table, Named):
            kind, path, words = table.kind, (*path, camel(words[0].lower())), words[1:]
            continue
        found = next((setting for setting in table.settings if setting.name.upper() == words[0]), None)
        if found is None:
            return None
        kind, path, words = found.kind, (*path, found.key), words[1:]
    return path, kind.parse


def _nested(path: tuple[str, ...], value: object) -> dict[str, object]:
    for key in reversed(path):
        value = {key: value}
    assert isinstance(value, dict)
    return value
