"""No pattern may use what is new in Python 3.11: 3.11.2, which Debian ships, matches possessive quantifiers wrongly."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
POSSESSIVE_OR_ATOMIC = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def uses_new_syntax(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False  # some other text
    return POSSESSIVE_OR_ATOMIC.search(ESCAPE_OR_CLASS.sub("x", pattern)) is not None


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string in the code; patterns are joined of several, so it does not matter where they go."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value
            yield node.lineno, value if isinstance(value, str) else value.decode("latin-1")


@pytest.mark.parametrize(
    ("pattern", "is_new"),
    [
        (r"a*+", True),
        (r"a++b", True),
        (r"(?:ab)?+", True),
        (r"[^x]{2,3}+", True),
        (r"[]+]*+", True),
        (r"(?>ab)", True),
        (r"a*b+c?", False),
        (r"a*?+" + "+", False),  # no pattern at all
        (r"\++", False),
        (r"[*+]+", False),
        (r"[+*]", False),
        (r"\(?>", False),
        (r"a{2,3}b+", False),
        ("+++ ", False),
    ],
)
def test_the_scan_knows_them(pattern: str, is_new: bool) -> None:
    assert uses_new_syntax(pattern) == is_new


def test_no_pattern_in_the_source_uses_them() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}: {text!r}"
        for file in sorted(SOURCE.rglob("*.py"))
        for line, text in texts(ast.parse(file.read_text(encoding="utf-8")))
        if ("+" in text or "(?>" in text) and uses_new_syntax(text)
    ]

    assert found == []
