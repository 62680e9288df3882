"""The promise loop: detection, escaping, continuation, and the state as a document."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.loop.claims import any_tag_claims, find_tags
from ralph.domain.promise.loop_state import (
    COMPLETION_TAG_PATTERN,
    CONTINUATION_PROMPT,
    DEFAULT_COMPLETION_PROMISE,
    DEFAULT_MAX_ITERATIONS,
    RalphLoopConfig,
    RalphLoopState,
    build_continuation_prompt,
    config_problem,
    detect_completion,
    escape_regex,
    increment_iteration,
    new_state,
    state_from_document,
    state_to_document,
)

STATE = RalphLoopState(
    active=True,
    iteration=3,
    max_iterations=100,
    completion_promise="DONE",
    started_at="2025-01-02T03:04:05.678Z",
    prompt="Build a REST API",
)
DOCUMENT = {
    "active": True,
    "iteration": 3,
    "maxIterations": 100,
    "completionPromise": "DONE",
    "startedAt": "2025-01-02T03:04:05.678Z",
    "prompt": "Build a REST API",
}


@pytest.mark.parametrize(
    ("text", "promise", "expected"),
    [
        # the usual ones
        ("<promise>DONE</promise>", "DONE", True),
        ("<promise> DONE </promise>", "DONE", True),
        ("no completion here", "DONE", False),
        ("<Promise>done</Promise>", "DONE", True),
        # and more
        ("a\n<promise>\n\tDONE\n</promise>\nb", "DONE", True),
        ("<promise>LATER</promise> … <promise>DONE</promise>", "DONE", True),
        ("<promise> is what I give: <promise>DONE</promise>", "DONE", True),
        ("<promise>DONE!</promise>", "DONE", False),
        ("<promise>NOT DONE</promise>", "DONE", False),
        ("<promise>DONE", "DONE", False),
        ("DONE</promise>", "DONE", False),
        ("<response>DONE</response>", "DONE", False),
        ("<promi\u017fe>DONE</promi\u017fe>", "DONE", False),
        ("<promise>fertig über</promise>", "FERTIG ÜBER", True),
        ("<promise>a.c</promise>", "a.c", True),
        ("<promise>abc</promise>", "a.c", False),
        ("<promise>all (tests) pass? [y]*</promise>", "all (tests) pass? [y]*", True),
        ("<promise>DONE</promise>", "  DONE\n", True),
        ("<promise></promise>", "", False),
        ("<promise> </promise>", " ", False),
    ],
)
def test_a_promise_is_kept_only_by_a_tag_that_says_it(text: str, promise: str, expected: bool) -> None:
    assert detect_completion(text, promise) is expected


pieces = st.sampled_from(
    ["<promise>", "</promise>", "<PROMISE>", "DONE", "done", " ", "\n", "x", "<", "</promise"]
)


@given(st.lists(pieces, max_size=12).map("".join))
def test_the_library_and_the_loop_hear_the_same_promises(text: str) -> None:
    assert detect_completion(text, "DONE") is any_tag_claims(find_tags(text, "promise"), "promise", "DONE")


def test_many_openings_without_an_end_are_no_trouble() -> None:
    assert not detect_completion("<promise>" * 200_000, "DONE")


@given(st.text(), st.text())
def test_an_escaped_text_matches_itself_and_nothing_else(text: str, other: str) -> None:
    pattern = escape_regex(text)
    assert re.fullmatch(pattern, text)
    assert bool(re.fullmatch(pattern, other)) is (text == other)


def test_every_special_character_is_escaped() -> None:
    assert escape_regex(r".*+?^${}()|[]\ a-b") == r"\.\*\+\?\^\$\{\}\(\)\|\[\]\\ a-b"


def test_the_pattern_gives_what_was_promised() -> None:
    found = COMPLETION_TAG_PATTERN.search("x <PROMISE>all\ndone</promise> <promise>no</promise>")
    assert found is not None
    assert found[1] == "all\ndone"


def test_the_continuation_prompt_says_plainly_where_the_loop_is() -> None:
    assert build_continuation_prompt(STATE) == (
        "Ralph loop, iteration 3/100.\n"
        "\n"
        "Your previous attempt did not output the completion promise. Continue working on the task:\n"
        "- Review your progress so far.\n"
        "- Continue from where you left off.\n"
        "- When the task is FULLY complete, output: <promise>DONE</promise>\n"
        "- Do not stop until the task is truly done.\n"
        "\n"
        "Original task:\n"
        "Build a REST API"
    )


@given(st.text() | st.sampled_from(["{{MAX}}", "{{PROMPT}} {{ITERATION}}", r"\1 \g<0> $& .*", "{{", "}}"]))
def test_any_task_comes_out_unchanged(task: str) -> None:
    prompt = build_continuation_prompt(replace(STATE, prompt=task, completion_promise="{{PROMPT}}"))
    assert prompt.endswith(f"\n\nOriginal task:\n{task}")
    assert prompt.startswith("Ralph loop, iteration 3/100.")
    assert "output: <promise>{{PROMPT}}</promise>" in prompt


def test_the_template_has_each_value_once() -> None:
    for name in ("ITERATION", "MAX", "PROMISE", "PROMPT"):
        assert CONTINUATION_PROMPT.count(f"{{{{{name}}}}}") == 1


def test_a_new_loop_has_the_defaults() -> None:
    state = new_state("x", RalphLoopConfig(), started_at="now")
    assert state == RalphLoopState(True, 1, DEFAULT_MAX_ITERATIONS, DEFAULT_COMPLETION_PROMISE, "now", "x")
    assert (state.max_iterations, state.completion_promise) == (100, "DONE")


def test_incrementing_makes_a_new_state() -> None:
    state = replace(STATE, extra={"theirs": 1})
    assert increment_iteration(state) == replace(state, iteration=4)
    assert state.iteration == 3


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (RalphLoopConfig(), None),
        (RalphLoopConfig(1, "x"), None),
        (RalphLoopConfig(max_iterations=0), "max_iterations must be 1 or more, not 0"),
        (RalphLoopConfig(completion_promise=" "), "completion_promise must not be empty"),
    ],
)
def test_a_loop_that_would_end_at_once_or_never_is_refused(
    config: RalphLoopConfig, problem: str | None
) -> None:
    assert config_problem(config) == problem


def test_a_state_is_written_in_camel_case() -> None:
    assert state_to_document(STATE) == DOCUMENT
    assert state_from_document(DOCUMENT) == (STATE, ())


def test_others_keys_survive_and_never_hide_ours() -> None:
    document = {**DOCUMENT, "sessionId": "s", "nested": {"a": [1]}}
    state, problems = state_from_document(document)
    assert state is not None
    assert not problems
    assert state_to_document(increment_iteration(state)) == {**document, "iteration": 4}
    assert state_to_document(replace(STATE, extra={"iteration": 99})) == DOCUMENT


@pytest.mark.parametrize(
    ("document", "problems"),
    [
        ([], ("it is not a JSON object",)),
        (None, ("it is not a JSON object",)),
        ({**DOCUMENT, "iteration": "3"}, ("iteration must be a whole number",)),
        ({**DOCUMENT, "iteration": True}, ("iteration must be a whole number",)),
        ({**DOCUMENT, "active": 1}, ("active must be true or false",)),
        ({**DOCUMENT, "prompt": None}, ("prompt must be a text",)),
        (
            {"active": True, "iteration": 3, "max_iterations": 5, "startedAt": "", "prompt": ""},
            ("maxIterations is missing", "completionPromise is missing"),
        ),
    ],
)
def test_what_is_wrong_with_a_foreign_document_is_said(document: object, problems: tuple[str, ...]) -> None:
    assert state_from_document(document) == (None, problems)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(json_values | st.fixed_dictionaries({}, optional=dict.fromkeys(DOCUMENT, json_values)))
def test_foreign_data_never_raises(document: object) -> None:
    state, problems = state_from_document(document)
    assert (state is None) is bool(problems)
