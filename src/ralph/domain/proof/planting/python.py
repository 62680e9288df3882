"""Failing tests for pytest and unittest."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ralph.domain.proof.planting.ground import Ground, Planted, beside, name_of, new_place
from ralph.patterns import pattern

_TEST_FILE = pattern(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?)\.py$|(?:^|/)tests?/(?:.*/)?[^/]+\.py$")


def plant_python(ground: Ground) -> Iterator[Planted]:
    folders: set[tuple[str, str]] = set()
    for path, text in ground.texts(".py"):
        if not _TEST_FILE.search(path) or (style := _style(text)) is None:
            continue
        runner, base = style
        token = ground.words.word(path)
        yield Planted(runner, path, path, _with(text, _test(ground, token, base)), token)
        place = new_place(path)
        if (runner, place) not in folders:
            folders.add((runner, place))
            yield _new(ground, runner, path, f"{place} of {runner}")


def _new(ground: Ground, runner: str, path: str, place: str) -> Planted:
    token = ground.words.word(place)
    base = "unittest.TestCase" if runner == "unittest" else ""
    content = ("import unittest\n\n\n" if base else "") + _test(ground, token, base)
    return Planted(runner, place, beside(path, _named_like(name_of(path), token)), content, token)


def _named_like(name: str, token: str) -> str:
    """A runner that looks for names of its own finds it too."""
    if name.endswith("_test.py"):
        return f"{token}_test.py"
    start = name.split("_")[0] if "_" in name else "test"
    return f"{start}_{token}.py"


def _style(text: str) -> tuple[str, str] | None:
    """The runner that a file is for, and the class its tests derive from; None if it has no tests."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    classes = [node for node in body if isinstance(node, ast.ClassDef) and _has_test(node.body)]
    for node in classes:
        for base in map(ast.unparse, node.bases):
            if base.endswith("TestCase"):
                return "unittest", base
    if _has_test(body) or any(node.name.startswith("Test") for node in classes):
        return "pytest", ""
    return None


def _has_test(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        for node in body
    )


def _test(ground: Ground, token: str, base: str) -> str:
    other = ground.words.word(token)
    if not base:
        return f'def test_{token}() -> None:\n    value = "{token}"\n    assert value == "{other}"\n'
    return (
        f"class Test{token.capitalize()}({base}):\n"
        f'    def test_{token}(self) -> None:\n        self.assertEqual("{token}", "{other}")\n'
    )


def _with(text: str, test: str) -> str:
    """Before the part that is run as a program, which would start the tests before this one is there."""
    lines = text.splitlines(keepends=True)
    main = next(
        (node.lineno - 1 for node in ast.parse(text).body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)),
        len(lines),
    )  # fmt: skip
    before, after = "".join(lines[:main]).rstrip("\n"), "".join(lines[main:])
    return f"{before}\n\n\n{test}" + (f"\n\n{after}" if after else "")
