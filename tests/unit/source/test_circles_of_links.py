"""A path of the project may lead in a circle: an agent made links, or a clone brought them."""

from __future__ import annotations

import ast
from pathlib import Path

import ralph

SOURCES = Path(ralph.__file__).parent


def test_nobody_asks_a_path_where_it_leads() -> None:
    """``Path.resolve`` raises RuntimeError for a circle (before Python 3.13), and nobody catches that everywhere.
    ``files.real_path``, or ``os.path.realpath`` where no adapter may be imported, gives what is missing as any other."""
    found = [
        f"{file.relative_to(SOURCES)}:{node.lineno}"
        for file in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "resolve"
    ]
    assert found == []
