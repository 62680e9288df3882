"""Tests that stand inside the code they test: those in a file of Rust, and examples in docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.domain.proof.weakened_tests import weaknesses
from ralph.patterns import pattern

# No pattern may look at the same text again and again: an agent writes it.
_TEST = pattern(r"#\[(?:cfg\((?:all\()?test\b|(?:\w{1,80}::){0,8}test\b)[^\n]*")
_ASSERTED = pattern(r"^[ \t]*//[/!](.*\bassert.*)$", re.MULTILINE)
_EXAMPLE = pattern(r"""^[ \t]*>>> .*(?:\n(?![ \t]*(?:$|\"\"\"|'''|>>> )).*)*""", re.MULTILINE)
_NO_CODE = pattern(r"""(?s)//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)|'(?:\\[^']*|[^'\\\n])'""")


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
            begin = _first_attribute(code, start.start(), end)
            end = _end_of_item(code, start.end())
            yield "\n".join(line.strip() for line in text[begin:end].splitlines())
    yield from (asserted.strip() for asserted in _ASSERTED.findall(text))


def _first_attribute(code: str, at: int, least: int) -> int:
    """Where the attributes before the one at ``at`` begin, each on a line of its own; not before ``least``."""
    *before, indent = code[least:at].split("\n")
    if indent.strip():
        return at
    begin = at - len(indent)
    while before and before[-1].lstrip().startswith("#["):
        begin -= len(before.pop()) + 1
    return begin


def _end_of_item(code: str, at: int) -> int:
    """After the block that opens first, or after the ``;`` of a declaration."""
    depth = 0
    for found in re.compile(r"[{};]").finditer(code, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth <= 0:
            return found.end()
    return len(code)
