"""Guess from a project's files which commands could be its guardrails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ReadText = Callable[[str], str | None]
"""The text of one of the project's files by name; None if there is none."""

_WANTED = ("test", "lint", "check", "typecheck", "type-check", "build")
# Names before a single or double colon that is not an assignment; recipes begin with a tab and never match.
_MAKE_RULE = re.compile(r"^([A-Za-z0-9_][A-Za-z0-9_.\- ]*?)\s*::?(?!=|:)", re.MULTILINE)
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
_PYTHON_TOOLS = {"pytest": "pytest", "ruff": "ruff check .", "mypy": "mypy ."}
_NO_TEST = "no test specified"  # what `npm init` writes


def candidates(read: ReadText) -> tuple[str, ...]:
    """Commands that look like checks, from the project's own task runner first."""
    found = [*_make(read), *_package_json(read), *_pyproject(read), *_cargo(read), *_go(read)]
    return tuple(dict.fromkeys(found))


def project_reader(root: Path, *, largest: int = 1_000_000) -> ReadText:
    """Reads files below ``root``; an unreadable file counts as missing."""

    def read(name: str) -> str | None:
        try:
            if not (root / name).is_file():  # a pipe might never end
                return None
            with (root / name).open(encoding="utf-8", errors="replace") as file:
                return file.read(largest)
        except OSError:
            return None

    return read


def _make(read: ReadText) -> Iterator[str]:
    text = next(
        (text for name in ("GNUmakefile", "makefile", "Makefile") if (text := read(name)) is not None), ""
    )
    targets = {name for match in _MAKE_RULE.finditer(text) for name in match[1].split()}
    yield from (f"make {target}" for target in _WANTED if target in targets)


def _package_json(read: ReadText) -> Iterator[str]:
    try:
        package = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    locks = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
    runner = next((program for lock, program in locks if read(lock) is not None), "npm")
    for name in _WANTED:
        script = scripts.get(name)
        if isinstance(script, str) and _NO_TEST not in script:
            yield f"{runner} test" if name == "test" and runner == "npm" else f"{runner} run {name}"


def _pyproject(read: ReadText) -> Iterator[str]:
    text = read("pyproject.toml")
    if text is None:
        return
    import tomllib

    try:
        project = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    tools = project.get("tool")
    named = {*(tools if isinstance(tools, dict) else ()), *_requirements(project)}
    yield from (command for tool, command in _PYTHON_TOOLS.items() if tool in named)


def _requirements(project: dict[str, object]) -> Iterator[str]:
    """Names of all required packages, in whatever group."""
    metadata = project.get("project")
    extras = metadata.get("optional-dependencies") if isinstance(metadata, dict) else None
    for groups in (extras, project.get("dependency-groups")):
        for group in groups.values() if isinstance(groups, dict) else ():
            for requirement in group if isinstance(group, list) else ():
                if isinstance(requirement, str) and (match := _REQUIREMENT.match(requirement)):
                    yield match[0].lower()


def _cargo(read: ReadText) -> Iterator[str]:
    if read("Cargo.toml") is not None:
        yield from ("cargo test", "cargo clippy", "cargo build")


def _go(read: ReadText) -> Iterator[str]:
    if read("go.mod") is not None:
        yield from ("go test ./...", "go vet ./...", "go build ./...")
