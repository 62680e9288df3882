"""How full the context is: exact figures out of transcripts, windows of models, alerts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.plan.context_use import (
    AFTER_COMPACTION,
    DEFAULT_WINDOW,
    LARGE_WINDOW,
    THRESHOLDS,
    alert,
    estimated_tokens,
    last_usage,
    thresholds_due,
    usage_in,
    window_of,
)


def answer(tokens: int, model: str = "claude-opus-5-5", **more: Any) -> bytes:
    usage = {"input_tokens": 3, "cache_read_input_tokens": tokens - 5, "output_tokens": 2}
    entry = {"type": "assistant", "message": {"model": model, "usage": usage}, **more}
    return json.dumps(entry).encode()


TOOL_RESULT = json.dumps({"type": "user", "message": {"content": 'the answer has "usage" in it'}}).encode()
COMPACTED = b'{"type":"system","subtype":"compact_boundary"}'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (answer(1000), (1000, "claude-opus-5-5")),
        (answer(1000, isSidechain=True), None),
        (answer(1000, isSidechain=False), (1000, "claude-opus-5-5")),
        (TOOL_RESULT, None),
        (COMPACTED, AFTER_COMPACTION),
        (
            b'{"type":"assistant","message":{"model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}',
            None,
        ),
        (
            b'{"type":"assistant","message":{"usage":{"input_tokens":7,"output_tokens":true,"x":{"a":1}}}}',
            (7, ""),
        ),
        (b'{"type":"assistant","message":{"usage":"many"}}', None),
        (b'{"type":"assistant","message":["usage", "usage"]}', None),
        (b'["usage"]', None),
        (b'{"type":"assistant","message":{"usage', None),
        (b'{"usage":' + b"[" * 100_000, None),
        (b"\xff\xfe", None),
        (b"", None),
    ],
)
def test_a_line_says_something_about_the_context_or_nothing(
    line: bytes, expected: tuple[int, str] | None
) -> None:
    assert usage_in(line) == expected


def test_the_newest_answer_counts_and_none_from_before_a_compaction() -> None:
    assert last_usage([TOOL_RESULT, answer(30), answer(20)]) == (30, "claude-opus-5-5")
    assert last_usage([TOOL_RESULT, COMPACTED, answer(190_000)]) == AFTER_COMPACTION
    assert last_usage([TOOL_RESULT]) is None


@given(st.binary(max_size=300))
def test_foreign_lines_never_raise(line: bytes) -> None:
    usage_in(line)
    usage_in(b'{"usage":' + line)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-5-5", LARGE_WINDOW),
        ("claude-sonnet-5-5", LARGE_WINDOW),
        ("claude-sonnet-4-5[1m]", LARGE_WINDOW),
        ("claude-sonnet-4-5-20250929", DEFAULT_WINDOW),
        ("claude-3-5-sonnet-20241022", DEFAULT_WINDOW),
        ("some-model", DEFAULT_WINDOW),
        ("", DEFAULT_WINDOW),
    ],
)
def test_the_window_is_known_from_the_model(model: str, window: int) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize(
    ("percent", "told", "due"),
    [
        (49.9, (), ()),
        (50, (), (50,)),
        (60, (50,), (60,)),
        (85, (), (50, 60, 70, 80)),
        (85, (50, 60, 70, 80), ()),
        (300, (50,), (60, 70, 80, 90)),
    ],
)
def test_each_threshold_is_due_once(percent: float, told: tuple[int, ...], due: tuple[int, ...]) -> None:
    assert thresholds_due(percent, told) == due


@given(st.floats(0, 1e6), st.sets(st.sampled_from(list(THRESHOLDS))))
def test_what_was_told_is_never_due_again(percent: float, told: set[int]) -> None:
    due = thresholds_due(percent, told)
    assert not told & set(due)
    assert thresholds_due(percent, told | set(due)) == ()


def test_alerts_say_how_serious_it_is_how_full_it_is_and_what_to_do() -> None:
    assert alert(50, tokens=102_000, window=200_000, is_exact=True, in_plan=True).startswith(
        "[NOTICE] Context usage: 51% (102,000 of 200,000 tokens). Be mindful of remaining space."
    )
    assert "[WARNING]" in alert(70, tokens=1, window=2, is_exact=True, in_plan=False)
    assert "Finish your current task and commit soon." in alert(
        80, tokens=1, window=2, is_exact=True, in_plan=True
    )
    critical = alert(90, tokens=180_000, window=200_000, is_exact=False, in_plan=True)
    assert critical.startswith("[CRITICAL] Context usage: about 90% (about 180,000 of 200,000 tokens).")
    assert "(1) create tasks in tasks.json for any remaining work" in critical


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_only_a_session_of_a_plan_hears_of_its_files(threshold: int) -> None:
    for in_plan in (True, False):
        text = alert(threshold, tokens=1, window=2, is_exact=True, in_plan=in_plan)
        assert ("tasks.json" in text) is in_plan


def test_a_larger_divisor_estimates_fewer_tokens() -> None:
    assert estimated_tokens(400_000) == 100_000
    assert estimated_tokens(400_000, 5) == 80_000
