"""Which new files a command asks for by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.proof.scripts import first_named

NEW = ("tests/test_new.py", "api/test_api.py", "web/a.test.js")


@pytest.mark.parametrize(
    ("command", "folder", "before", "expected"),
    [
        ("pytest tests/test_new.py", ".", (), {"tests/test_new.py"}),
        ("pytest tests/test_new.py::test_a -q", ".", (), {"tests/test_new.py"}),
        ("pytest ./tests/../tests/test_new.py", ".", (), {"tests/test_new.py"}),
        ("pytest tests", ".", (), {"tests/test_new.py"}),
        ("pytest tests", ".", ("tests/test_old.py",), set()),
        ("pytest tests api", ".", ("tests/test_old.py",), {"api/test_api.py"}),
        ("pytest tests/test_new.py", ".", ("tests/test_new.py",), set()),
        ("pytest test_api.py", "api", (), {"api/test_api.py"}),
        ("pytest test_api.py", ".", (), set()),
        ("make lint; node --test web/a.test.js", ".", (), {"web/a.test.js"}),
        ("pytest test", ".", (), set()),
        ("pytest", ".", (), set()),
        ("pytest .", ".", (), set()),
        ("pytest ../tests /tests", ".", (), set()),
        ("pytest 'tests", ".", (), set()),
    ],
)
def test_a_command_asks_for_its_first_tests_by_a_name_that_meant_nothing_before(
    command: str, folder: str, before: tuple[str, ...], expected: set[str]
) -> None:
    assert first_named(command, folder, NEW, before) == expected


@given(st.text(max_size=60), st.sampled_from([".", "api", "a/b"]))
def test_no_command_asks_for_more_than_there_is(command: str, folder: str) -> None:
    assert first_named(command, folder, NEW, ()) <= set(NEW)
    assert first_named(command, folder, NEW, NEW) == frozenset()
