"""Our own git is run in one way: no other module spells a command line of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph
from ralph.domain.sandbox.own_git import own_git

SOURCES = Path(ralph.__file__).parent
SPELLED = {
    "domain/sandbox/own_git.py": "the one place",
}
"""Modules that may spell a command line of git, and why. The guard judges those of others and runs none."""


def spelled(tree: ast.AST) -> Iterator[int]:
    """Lines with a sequence that begins with "git", or a call whose first two arguments are "git" and a text."""
    for node in ast.walk(tree):
        words: list[ast.expr] = []
        if isinstance(node, ast.Tuple | ast.List):
            words = node.elts
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            words = node.args
        first = words[0] if words else None
        if isinstance(first, ast.Constant) and first.value == "git":
            yield first.lineno


def test_a_command_line_of_git_is_found_however_it_is_spelled() -> None:
    text = '("git", "status")\n["git", *x]\nrun("git", "status")\nwhich("git")\nx in {"git", "hg"}\n'
    assert list(spelled(ast.parse(text))) == [1, 2, 3]


def test_nobody_else_spells_a_command_line_of_git() -> None:
    found = {
        f"{path}:{line}"
        for file in SOURCES.rglob("*.py")
        if (path := file.relative_to(SOURCES).as_posix()) not in SPELLED and not path.startswith("guard/")
        for line in spelled(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize("name", sorted(SPELLED))
def test_the_exceptions_are_needed(name: str) -> None:
    assert list(spelled(ast.parse((SOURCES / name).read_text(encoding="utf-8"))))


def test_what_a_command_must_not_do_is_said_wherever_it_is_run() -> None:
    assert own_git("diff", "HEAD")[-7:] == (
        "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty", "HEAD",
    )  # fmt: skip
    assert own_git("status", "-z")[-3:] == ("status", "--ignore-submodules=dirty", "-z")
    assert own_git("log")[-4:] == ("log", "--no-ext-diff", "--no-textconv", "--submodule=short")
    assert own_git("add")[-1] == "add"
    assert own_git("fetch", "x")[-3:] == ("fetch", "--upload-pack=git-upload-pack", "x")
    assert own_git("ls-remote", "x")[-3:] == ("ls-remote", "--upload-pack=git-upload-pack", "x")
    assert own_git("push", "x")[-3:] == ("push", "--receive-pack=git-receive-pack", "x")
    assert "core.fsmonitor=false" in own_git("log")
