"""An agent can nest folders deeper than Python's stack: whoever walks them keeps a list of what is waiting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph

SOURCES = Path(ralph.__file__).parent
FLOORS = ("adapters", "wiring", "operations")
BY_CALL = {
    "adapters/agents/codex/stream.py:self._odd": "a line of a stream, once more",
    "adapters/agents/codex/stream.py:self._parse_line": "a line of a stream, once more",
    "adapters/files.py:make_private_folder": "goes up, from a folder that the user or ralph named",
    "adapters/storage/wire.py:_whole_characters": "an event, whose shape is known",
    "operations/runs/resume.py:_differences": "settings",
}
"""Functions that call themselves, and what they walk instead of folders."""
BY_LIBRARY = {
    "adapters/isolation/bwrap.py:rmtree": "a folder of ours, which is not visible inside",
    "adapters/isolation/srt.py:rmtree": "a folder of ours, which is not writable inside",
    "adapters/trees.py:rmtree": "whatever is nested too deeply is brought to the top first",
}
"""Walks of the standard library, some of which call themselves in some versions of Python."""
WALKS = ("walk", "fwalk", "rglob", "rmtree", "copytree")


def sources() -> Iterator[tuple[str, ast.Module]]:
    for floor in FLOORS:
        for file in sorted((SOURCES / floor).rglob("*.py")):
            yield file.relative_to(SOURCES).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """By how they are called: ``name``, or ``self.name`` in their class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"self.{inner.name}", inner


def called(function: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def recursive(tree: ast.Module) -> Iterator[str]:
    """Those that come back to themselves, also by way of others in the file."""
    calls = {name: called(node) for name, node in functions(tree)}
    for name in calls:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            new = (calls[waiting.pop()] & calls.keys()) - reached
            reached |= new
            waiting += new
        if name in reached:
            yield name


def test_no_function_calls_itself() -> None:
    found = {f"{path}:{name}" for path, tree in sources() for name in recursive(tree)}
    assert found == set(BY_CALL)


def test_no_walk_of_the_library_calls_itself_either() -> None:
    found = {
        f"{path}:{node.attr}"
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in WALKS
        and ast.unparse(node.value) not in ("ast", "trees")
    }
    assert found == set(BY_LIBRARY)


@pytest.mark.parametrize(
    "text",
    [
        "def f(p):\n    for x in p.iterdir(): f(x)",
        "def f(p): g(p)\ndef g(p): f(p)",
        "class A:\n    def f(self): self.g()\n    def g(self): self.f()",
    ],
)
def test_the_rule_can_fail(text: str) -> None:
    assert [*recursive(ast.parse(text))]
