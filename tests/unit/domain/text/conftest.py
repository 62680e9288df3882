from __future__ import annotations

import pytest

from ralph.adapters.processes.redaction import CompileSearch
from ralph.adapters.processes.sign_search import compile_search, load_library
from ralph.domain.text.secret_signs import SIGNS, Find


@pytest.fixture(scope="module", params=["in Python", "compiled"])
def compile_(request: pytest.FixtureRequest) -> CompileSearch:
    """How blocks are searched for signs of secrets: both ways must pass the same tests."""
    if request.param == "in Python":
        return lambda signs: None
    if load_library() is None:
        pytest.skip("it was not built here: there was no C compiler")
    return compile_search


@pytest.fixture(scope="module")
def find(compile_: CompileSearch) -> Find | None:
    return compile_(SIGNS)
