from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.forges.job_log import MOST_CHARS, Step, cut_log, failed_step
from ralph.adapters.online.shape import Shape, moment_of

LOG = """\ufeff2026-01-01T10:00:00.0000000Z ##[group]Run actions/checkout@v4
2026-01-01T10:00:01.0000000Z ##[endgroup]
2026-01-01T10:00:05.1234567Z ##[group]Run pytest
2026-01-01T10:00:05.1234568Z ##[endgroup]
2026-01-01T10:00:06.0000000Z \x1b[31mFAILED\x1b[0m tests/test_a.py
  a line without a time
2026-01-01T10:00:07.0000000Z ##[error]Process completed with exit code 1.
2026-01-01T10:00:09.0000000Z Post job cleanup.
"""
STEPS = {
    "steps": [
        {"name": "Checkout", "conclusion": "success", "started_at": "2026-01-01T10:00:00Z"},
        {
            "name": "Test",
            "conclusion": "failure",
            "started_at": "2026-01-01T10:00:05Z",
            "completed_at": "2026-01-01T10:00:07Z",
        },
        {"name": "Post", "conclusion": "success"},
    ]
}


def test_only_the_failed_step_is_left() -> None:
    step = failed_step(Shape(STEPS))

    assert step is not None
    assert step.name == "Test"
    assert cut_log(LOG, step) == (
        "Run pytest\nFAILED tests/test_a.py\n  a line without a time\n"
        "##[error]Process completed with exit code 1."
    )


@pytest.mark.parametrize("step", [None, Step("Test"), Step("Test", moment_of("2030-01-01T00:00:00Z"))])
def test_all_of_it_is_left_if_nobody_knows_which(step: Step | None) -> None:
    text = cut_log(LOG, step)

    assert text.startswith("Run actions/checkout@v4")
    assert text.endswith("Post job cleanup.")


def test_a_step_that_failed_goes_before_one_that_was_cancelled() -> None:
    steps = [{"name": "a", "conclusion": "cancelled"}, {"name": "b", "conclusion": "timed_out"}]

    assert failed_step(Shape({"steps": steps})) == Step("b")
    assert failed_step(Shape({"steps": steps[:1]})) == Step("a")
    assert failed_step(Shape({"steps": [{"name": "c", "conclusion": "success"}]})) is None


def test_both_ends_of_a_long_log_are_kept() -> None:
    text = cut_log("first\n" + "x" * 2_000_000 + "\nlast", None)

    assert text.startswith("first")
    assert text.endswith("last")
    assert len(text) < MOST_CHARS + 100


@given(st.text())
def test_any_text_is_cut(text: str) -> None:
    assert "\x1b" not in cut_log(text, Step("s", 1.0, 2.0))
