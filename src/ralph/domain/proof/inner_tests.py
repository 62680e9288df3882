"""Tests that stand inside the code they test: those in a file of Rust, and examples in docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.domain.proof.weakened_tests import weaknesses

_TEST = re.compile(
    r"(?:^[ \t]*#\[[^\n]*\n)*[ \t]*#\[(?:cfg\((?:all\()?test\b|(?:\w+::)*test\b)[^\n]*", re.MULTILINE
)
_ASSERTED = re.compile(r"^\s*//[/!](.*\bassert.*)$", re.MULTILINE)
_EXAMPLE = re.compile(r"""^[ \t]*>>> .*(?:\n(?![ \t]*(?:$|\"\"\"|'''|>>> )).*)*""", re.MULTILINE)
_NO_CODE = re.compile(r"""(?s)//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\[^']*|[^'\\\n])'""")


def may_hold_tests(path: str, *, doctests: bool) -> bool:
    """Whether code in a file of this name may hold tests. ``doctests``: examples are run."""
    return path.endswith(".rs") or (doctests and path.endswith(".py"))


def inner_weaknesses(path: str, before: str, after: str) -> list[str]:
    """What the tests inside a file no longer do as before; empty if they were only extended."""
    find = _examples if path.endswith(".py") else _rust_tests
    old, new = "\n".join(find(before)), "\n".join(find(after))
    return weaknesses("tests.rs" if find is _rust_tests else "examples", old, new) if old else []


def _examples(text: str) -> Iterator[str]:
    for example in _EXAMPLE.findall(text):
        yield from (line.strip() for line in example.splitlines())


def _rust_tests(text: str) -> Iterator[str]:
    code = _NO_CODE.sub(lambda found: " " * len(found[0]), text)
    end = 0
    for start in _TEST.finditer(code):
        if start.start() >= end:
            end = _end_of_item(code, start.end())
            yield "\n".join(line.strip() for line in text[start.start() : end].splitlines())
    yield from (asserted.strip() for asserted in _ASSERTED.findall(text))


def _end_of_item(code: str, at: int) -> int:
    """After the block that opens first, or after the ``;`` of a declaration."""
    depth = 0
    for found in re.compile(r"[{};]").finditer(code, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth <= 0:
            return found.end()
    return len(code)
