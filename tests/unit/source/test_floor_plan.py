"""The rules of the floor plan that import-linter cannot check."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ralph

SOURCE = Path(ralph.__file__).parent
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE.parent)))
def test_every_folder_says_what_belongs_in_it(package: Path) -> None:
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))


def test_the_domain_has_rooms_and_one_file() -> None:
    assert {path.name for path in (SOURCE / "domain").glob("*.py")} == {"__init__.py", "holder.py"}


def test_no_module_is_named_for_nothing() -> None:
    named = {path.stem for path in SOURCE.rglob("*.py")}
    assert not named & {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}


def test_no_text_names_the_documents_that_ralph_was_made_from() -> None:
    for path in SOURCE.rglob("*.py"):
        assert not re.search(r"\bseed 00\d|\bseeds?'s?\b|\(seed\b", path.read_text(), re.IGNORECASE), path
