"""Where settings come from: files, the environment, flags. Each becomes layers; every value keeps its origin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralph.config.kinds import Kind, Named, Nullable, Table, Variables, camel
from ralph.config.project_search import own_settings
from ralph.config.schema import SETTINGS
from ralph.domain.text.reader import KeyPath, Problem, nearest
from ralph.domain.text.strict_json import BadJson, parse_json
from ralph.values import dataclass

LARGEST_BYTES = 10_000_000
WORKFLOW_FILE = "WORKFLOW.md"
SETTINGS_FILE = ".ralph/settings.json"
LOCAL_FILE = ".ralph/settings.local.json"
PROJECT_FILES = (WORKFLOW_FILE, SETTINGS_FILE, LOCAL_FILE)
"""Those of a project, the first below the others."""

PREFIX = "RALPH_"
OWN_WORDS = frozenset({"RALPH_TRUST", "RALPH_FLEET_KEY", "RALPH_FLEET_KEY_FILE"})
"""A user's, to ralph itself."""
RESERVED = OWN_WORDS | frozenset(
    f"RALPH_{name}"
    for name in [
        "RUN_ID",
        "SPAWN_ID",
        "PARENT_RUN_ID",
        "PROJECT_ID",
        "TASK_ID",
        "ITERATION",
        "MAX_ITERATIONS",
        "ATTEMPT",
        "ROLE",
        "SANDBOX",
    ]
)
"""And what ralph tells agents, which a ralph inside an agent inherits. Never settings."""

Flag = tuple[tuple[str, ...], object, str]
"""A setting given on the command line: ``(("agent", "command"), "claude", "--agent")``."""


@dataclass(frozen=True, slots=True)
class Origin:
    """``default``, ``.ralph/settings.json``, ``environment RALPH_AGENT__COMMAND``, ``--agent``."""

    label: str

    def __str__(self) -> str:
        return self.label


DEFAULT = Origin("default")


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings of one origin, as JSON values. ``content``: of the file that says so."""

    origin: Origin
    values: Mapping[str, object]
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Merged:
    """The values of all layers, and the origin of each object and each value."""

    values: Mapping[str, object]
    origins: Mapping[KeyPath, Origin]

    def origin(self, path: KeyPath) -> Origin:
        """Entries of a list share the origin of the list."""
        if path in self.origins:
            return self.origins[path]
        first_index = next((n for n, step in enumerate(path) if isinstance(step, int)), len(path))
        return self.origins.get(path[:first_index], DEFAULT)

    def origin_of_missing(self, path: KeyPath) -> Origin:
        """Where a missing value should have been."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, DEFAULT)


NOTHING = Merged({}, {})


def deep_merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Objects merge recursively; anything else, including lists and null, replaces the old value."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping):
            merged[key] = deep_merge(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def stack(layers: Iterable[Layer]) -> Merged:
    """Later layers win."""
    values: dict[str, object] = {}
    origins: dict[KeyPath, Origin] = {}
    for layer in layers:
        _mark(values, layer.values, layer.origin, (), origins)
        values = deep_merge(values, layer.values)
    return Merged(values, origins)


def _mark(
    below: Mapping[str, object],
    over: Mapping[str, object],
    origin: Origin,
    path: KeyPath,
    origins: dict[KeyPath, Origin],
) -> None:
    for key, value in over.items():
        here = (*path, key)
        old = below.get(key)
        if isinstance(value, Mapping):
            _mark(old if isinstance(old, Mapping) else {}, value, origin, here, origins)
        elif isinstance(old, Mapping):
            for replaced in [known for known in origins if known[: len(here)] == here]:
                del origins[replaced]
        origins[here] = origin


def user_file(environ: Mapping[str, str]) -> Path | None:
    file = own_settings(environ)
    return Path(file) if file else None


def user_label(file: Path, environ: Mapping[str, str]) -> str:
    """``~/.config/ralph/settings.json``."""
    home = environ.get("HOME", "").rstrip("/")
    return f"~{str(file)[len(home) :]}" if home and str(file).startswith(f"{home}/") else str(file)


Kept = Mapping[str, bytes]
"""The files of a project by their names, as they were when somebody kept them."""


def read_file(
    root: Path,
    name: str,
    problems: list[Problem],
    warnings: list[Problem],
    *,
    file: Path | None = None,
    kept: Kept | None = None,
) -> Layer | None:
    """The layer of one file; None if there is no such file, or if it cannot be used (then ``problems`` says why).

    ``file``: where it is, if not at ``name`` in ``root``. ``kept``: what counts instead of what is there.
    """

    def wrong(message: str, hint: str = "") -> Layer | None:
        problems.append(Problem((), message, hint, name))
        return None

    file = file or root / name
    if kept is not None and name not in kept:
        return None
    try:
        if kept is not None:
            content = kept[name]
        elif file.exists() and not file.is_file() and not file.is_dir():
            return wrong("is not a regular file", "remove it")
        elif file.exists() and file.stat().st_size > LARGEST_BYTES:
            return wrong(
                f"is larger than {LARGEST_BYTES // 1_000_000} MB", "settings are not that long: remove it"
            )
        else:
            content = file.read_bytes()
        found = parse_json(_decode(content))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        return wrong("is a directory, not a file", "remove it")
    except OSError as error:
        return wrong(f"cannot be read: {(error.strerror or str(error)).lower()}", "check its permissions")
    except BadJson as error:
        return wrong(f"not valid JSON: {error}")
    except UnicodeError as error:
        return wrong(str(error), "save it as UTF-8")
    if not isinstance(found.value, dict):
        return wrong("expected an object at the top", "begin it with { and end it with }")
    for path in dict.fromkeys(one.path for one in found.repeated):
        warnings.append(Problem(path, "appears twice, the last one counts", "remove one", name))
    return Layer(Origin(name), found.value, content)


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
    """A layer for each variable; the more specific one wins, in whatever order they were set."""
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
    """All variables that are settings, except those in free-form objects."""

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
    """The setting that a variable gives, and how to read its text."""
    words = name.removeprefix(PREFIX).split("__")
    kind: Kind[Any] = SETTINGS
    path: tuple[str, ...] = ()
    while words:
        table = _inner(kind)
        if isinstance(table, Variables):
            # The rest is the name of a variable, which may contain "__".
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
