"""The part of a project's configuration that decides what a verification runs; the rest is free to change."""

from __future__ import annotations

import configparser
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ralph.domain.make_targets import is_makefile, rules_of

_TOOLS = (
    "pytest", "coverage", "tox", "nox", "ruff", "mypy", "pyright", "pylint", "flake8", "hatch", "poe", "taskipy", "pdm",
)  # fmt: skip
_PACKAGE_KEYS = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "eslintConfig", "stylelint")
_CFG = ("tool:", "flake8", "mypy", "coverage", "pylint", "pycodestyle", "aliases")


def changed_sections(path: str, before: str, after: str | None, targets: Iterable[str] = ()) -> list[str]:
    """What decides about verification and is not as it was, by name; ``after`` is None if the file is gone."""
    try:
        old = _deciding(path, before, targets)
    except ValueError:
        return [] if before == after else ["all of it (it could not be read)"]
    if after is None:
        return list(old)
    try:
        new = _deciding(path, after, targets)
    except ValueError:
        return ["it can no longer be read"]
    changed = [name for name, value in old.items() if new.get(name) != value]
    return changed + [name for name in new if name not in old and _counts_when_new(name, old)]


def _counts_when_new(name: str, old: Mapping[str, object]) -> bool:
    """A script that is new hurts nobody, unless npm runs it around one that was there."""
    kind, _, rest = name.partition(" ")
    if kind != "scripts":
        return True
    return any(
        f"scripts {rest.removeprefix(word)}" in old for word in ("pre", "post") if rest.startswith(word)
    )


def _deciding(path: str, text: str, targets: Iterable[str]) -> dict[str, object]:
    if not text.strip():
        return {}
    name = path.rsplit("/", 1)[-1]
    if is_makefile(path):
        return rules_of(text, targets)
    if name == "package.json":
        return dict(_package(_table(json.loads(text))))
    if name == "setup.cfg":
        return _cfg(text)
    table = tomllib.loads(text)
    return dict(_cargo(table)) if name == "Cargo.toml" else dict(_pyproject(table))


def _pyproject(table: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    tools = _table(table.get("tool"))
    for name in _TOOLS:
        if name in tools:
            yield f"tool.{name}", tools[name]


def _cargo(table: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name in ("lib", "test", "profile"):
        if name in table:
            yield name, table[name]
    package = _table(table.get("package"))
    if "autotests" in package:
        yield "package.autotests", package["autotests"]
    if "exclude" in (workspace := _table(table.get("workspace"))):
        yield "workspace.exclude", workspace["exclude"]


def _package(table: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, script in _table(table.get("scripts")).items():
        yield f"scripts {name}", script
    for name in _PACKAGE_KEYS:
        if name in table:
            yield name, table[name]


def _cfg(text: str) -> dict[str, object]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    return {name: dict(parser[name]) for name in parser.sections() if name.startswith(_CFG)}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
