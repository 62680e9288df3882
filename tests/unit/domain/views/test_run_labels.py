"""What runs are called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.views.runs import LONGEST, label_of


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"prompt": "\n  Fix the tests.\nThen stop.", "promptFile": None}, "Fix the tests."),
        ({"prompt": "Totals are rounded", "task": "T-1"}, "T-1 Totals are rounded"),
        ({"prompt": "", "task": "nightly", "command": ["sh", "-c", "./agent"]}, "nightly sh -c ./agent"),
        ({"prompt": None, "task": 7}, ""),
        ({}, ""),
    ],
)
def test_a_run_is_called_by_what_was_asked(options: dict[str, Any], told: str) -> None:
    assert str(label_of(options)) == told


def test_a_prompt_that_came_from_a_file_is_known_by_its_first_words() -> None:
    assert str(label_of({"prompt": None, "promptFile": "P.md"}, "\n# Fix the tests\n")) == "Fix the tests"
    assert str(label_of({"prompt": "Fix it"}, "Fix it, and more")) == "Fix it"


@given(st.dictionaries(st.sampled_from(["prompt", "task", "command"]), st.text() | st.lists(st.integers())))
def test_whatever_was_recorded_makes_one_bounded_line(options: dict[str, Any]) -> None:
    label = label_of(options)
    assert len(label.title) <= LONGEST
    assert len(label.title.splitlines()) <= 1
