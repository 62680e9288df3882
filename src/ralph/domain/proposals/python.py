"""Python: the tools that a project configures or asks for, run in the environment of whoever locked it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ralph.domain.proposals.proposal import Files, Kind, Proposal, first_there, propose
from ralph.patterns import pattern

_PYPROJECT = "pyproject.toml"
_REQUIREMENTS = ("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements.txt")
_NAME = pattern(r"[A-Za-z0-9._-]+")
_TEST_FILE = pattern(r"test_?[A-Za-z0-9_]*\.py")
_FOR_PYTEST = pattern(r"^(?:import pytest|from pytest |(?:async )?def test)", re.MULTILINE)
_TEST_FOLDERS = {"tests": " discover -s tests", "test": " discover -s test", ".": ""}
"""Where tests lie, and how unittest finds them there."""
_ENOUGH = 20
_RUNNERS = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run "}
_INSTALL = {"uv.lock": "uv sync --frozen", "poetry.lock": "poetry install", "pdm.lock": "pdm sync"}
_FILES = {
    "pytest": ("pytest.ini", ".pytest.ini"),
    "ruff": ("ruff.toml", ".ruff.toml"),
    "flake8": (".flake8",),
    "mypy": ("mypy.ini", ".mypy.ini"),
    "pyright": ("pyrightconfig.json",),
}
"""Files by which a project configures a tool, besides pyproject.toml and setup.cfg."""
_SECTIONS = {"pytest": "[tool:pytest]", "flake8": "[flake8]", "mypy": "[mypy]"}
"""Their sections in setup.cfg."""
_KINDS = {
    "pytest": Kind.TEST,
    "ruff": Kind.LINT,
    "flake8": Kind.LINT,
    "mypy": Kind.TYPES,
    "pyright": Kind.TYPES,
}


def guardrails(files: Files) -> Iterator[Proposal]:
    project = _pyproject(files)
    runner = _RUNNERS.get(first_there(files, *_RUNNERS), "")
    for tool, kind in _KINDS.items():
        if source := _source(tool, project, files):
            yield propose(runner + _command(tool, project), source, kind)
        elif kind is Kind.TEST:
            yield from _tests(files, runner)


def setup(files: Files) -> Iterator[Proposal]:
    """From the lock file; or an environment of its own, if the project has one now."""
    if lock := first_there(files, *_INSTALL):
        yield propose(_INSTALL[lock], lock)
    elif (source := first_there(files, *_REQUIREMENTS)) and "bin" in files.names(".venv"):
        yield propose("python3 -m venv .venv", source)
        yield propose(f".venv/bin/pip install -q -r {source}", source, program="python3")


def _tests(files: Files, runner: str) -> Iterator[Proposal]:
    """Where nothing names a runner, the tests themselves say which one they are for."""
    for folder, discover in _TEST_FOLDERS.items():
        names = [name for name in sorted(files.names(folder)) if _TEST_FILE.fullmatch(name)]
        texts = [files.read(f"{folder}/{name}") or "" for name in names[:_ENOUGH]]
        if any(map(_FOR_PYTEST.search, texts)):
            yield propose(f"{runner}pytest -q", f"{folder}/{names[0]}".removeprefix("./"), Kind.TEST)
            return
        if any("unittest" in text for text in texts):
            package = " -t ." if folder != "." and "__init__.py" in files.names(folder) else ""
            yield propose(
                f"{runner}python3 -m unittest{discover}{package}",
                f"{folder}/{names[0]}".removeprefix("./"),
                Kind.TEST,
            )
            return


def _command(tool: str, project: Mapping[str, object]) -> str:
    if tool == "mypy":
        # Its own settings may say what to look at.
        return (
            "mypy" if {"files", "packages", "modules"} & _table(project, "tool", "mypy").keys() else "mypy ."
        )
    return {"pytest": "pytest -q", "ruff": "ruff check ."}.get(tool, tool)


def _source(tool: str, project: Mapping[str, object], files: Files) -> str:
    """The file that names the tool; empty: none does."""
    if tool in _table(project, "tool") or tool in _required(project):
        return _PYPROJECT
    if file := first_there(files, *_FILES[tool]):
        return file
    if (section := _SECTIONS.get(tool)) and section in (files.read("setup.cfg") or ""):
        return "setup.cfg"
    return next((name for name in _REQUIREMENTS if tool in _names(files.read(name) or "")), "")


def _pyproject(files: Files) -> Mapping[str, object]:
    text = files.read(_PYPROJECT)
    if text is None:
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _required(project: Mapping[str, object]) -> frozenset[str]:
    """The names of all packages that are asked for, in whatever group."""
    metadata, poetry = _table(project, "project"), _table(project, "tool", "poetry")
    extras = (
        *_table(metadata, "optional-dependencies").values(),
        *_table(project, "dependency-groups").values(),
    )
    lists = [metadata.get("dependencies"), _table(project, "tool", "uv").get("dev-dependencies"), *extras]
    found = {
        name
        for group in lists
        if isinstance(group, list)
        for entry in group
        if isinstance(entry, str)
        for name in _names(entry)
    }
    groups = [_table(each, "dependencies") for each in _table(poetry, "group").values()]
    for group in (_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *groups):
        found.update(name.lower() for name in group)
    return frozenset(found)


def _names(requirements: str) -> frozenset[str]:
    found = (_NAME.match(line.strip()) for line in requirements.splitlines())
    return frozenset(match[0].lower() for match in found if match)


def _table(value: object, *keys: str) -> Mapping[str, object]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
