from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.feedback import Feedback, Placement, guardrail_failure
from ralph.domain.loop.prompt import compose, fill, with_iteration_count

APPEND, PREPEND, REPLACE = Placement.APPEND, Placement.PREPEND, Placement.REPLACE


@pytest.mark.parametrize(
    ("feedback", "prompt"),
    [
        ([], "base"),
        ([("a", APPEND)], "base\n\na"),
        ([("a", PREPEND)], "a\n\nbase"),
        ([("a", REPLACE)], "a"),
        ([("a", APPEND), ("b", APPEND)], "base\n\na\n\nb"),
        ([("a", PREPEND), ("b", PREPEND)], "a\n\nb\n\nbase"),
        ([("a", APPEND), ("b", REPLACE), ("c", PREPEND)], "c\n\nb\n\na"),
        ([("a", REPLACE), ("b", REPLACE)], "a\n\nb"),
    ],
)
def test_feedback_goes_where_its_fail_action_says(feedback: list[tuple[str, Placement]], prompt: str) -> None:
    assert compose("base", [Feedback(text, placement) for text, placement in feedback]) == prompt


feedbacks = st.lists(st.builds(Feedback, st.text(min_size=1), st.sampled_from(Placement)), max_size=6)


@given(st.text(), feedbacks)
def test_no_feedback_is_ever_lost(base: str, feedback: list[Feedback]) -> None:
    prompt = compose(base, feedback)
    assert all(item.text in prompt for item in feedback)


@given(st.text(), feedbacks)
def test_the_base_stays_unless_it_is_replaced(base: str, feedback: list[Feedback]) -> None:
    if all(item.placement is not REPLACE for item in feedback):
        assert base in compose(base, feedback)


def test_the_iteration_count_stands_above_everything() -> None:
    prompt = compose("base", [Feedback("a", PREPEND)])
    assert with_iteration_count(prompt, iteration=3, maximum=10) == (
        "Iteration 3 of 10, 7 remaining.\n\na\n\nbase"
    )


def test_the_failure_message_has_its_documented_form() -> None:
    assert guardrail_failure(
        command="make lint",
        exit_code=2,
        hint="Fix lint errors only.",
        log_file=".ralph/guardrail_001_make_lint.log",
        output="bad",
        is_cut=True,
    ) == (
        'Guardrail "make lint" failed with exit code 2.\n'
        "Hint: Fix lint errors only.\n"
        "Output file: .ralph/guardrail_001_make_lint.log\n"
        "Output (truncated):\n"
        "bad"
    )


def test_without_a_hint_there_is_no_hint_line() -> None:
    assert "Hint" not in guardrail_failure(
        command="c", exit_code=1, hint="", log_file="f", output="o", is_cut=False
    )


@pytest.mark.parametrize(
    ("template", "values", "filled"),
    [
        ("{{A}}/{{B}}", {"A": "1", "B": "2"}, "1/2"),
        ("{{A}}", {"A": "{{B}}", "B": "no"}, "{{B}}"),
        ("{{UNKNOWN}} {{A}}", {"A": "x"}, "{{UNKNOWN}} x"),
        ("open {{A", {"A": "x"}, "open {{A"),
        (r"{{A}}", {"A": r"\1 .* $0"}, r"\1 .* $0"),
    ],
)
def test_templates_are_filled_literally_and_once(template: str, values: dict[str, str], filled: str) -> None:
    assert fill(template, values) == filled
