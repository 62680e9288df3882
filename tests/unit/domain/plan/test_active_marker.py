"""``.ralph-active``: what it holds, and reading it back whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plan_documents import story_json, tasks_document

from ralph.domain.plan.active_marker import ActiveMarker, active_marker_from
from ralph.domain.plan.stop_checks import snapshot_of
from ralph.domain.plan.story import IterationMode, ReviewRules

MARKER = ActiveMarker(
    pid=12345,
    timestamp="2025-06-15T10:30:00Z",
    max_iterations=15,
    mode="sandbox",
    iteration_mode=IterationMode.IMPLEMENT,
    snapshot=snapshot_of(tasks_document(story_json("US-001"))),
    ralph_dir="plans/search",
    run_id="20250615-103000-abcd",
    uncommitted=("a b", "half a \udce4"),
)


def test_the_payload_has_every_field_and_what_the_hooks_need() -> None:
    assert json.loads(MARKER.text()) == {
        "timestamp": "2025-06-15T10:30:00Z",
        "pid": 12345,
        "max_iterations": 15,
        "mode": "sandbox",
        "skipReview": False,
        "reviewCap": 5,
        "ralphDir": "plans/search",
        "runId": "20250615-103000-abcd",
        "uncommittedBefore": ["a b", "half a \udce4"],
        "iterationMode": "implement",
        "preIterationSnapshot": {"US-001": {"passes": False, "reviewStatus": None, "reviewCount": 0}},
    }
    assert active_marker_from(MARKER.text()) == MARKER


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"pid": "1"}', '{"pid": true}', '{"pid": -1}', "[" * 100_000]
)
def test_what_is_no_marker_is_none(text: str) -> None:
    assert active_marker_from(text) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("reviewCap", "x"), ("reviewCap", 0), ("iterationMode", "approve"), ("iterationMode", []), ("max_iterations", "x"),
     ("preIterationSnapshot", [1]), ("skipReview", "yes"), ("ralphDir", 5), ("runId", 5), ("uncommittedBefore", "a")],
)  # fmt: skip
def test_fields_that_make_no_sense_have_their_usual_values(field: str, value: Any) -> None:
    marker = active_marker_from(json.dumps({"pid": 1, field: value}))
    assert marker == ActiveMarker(pid=1)
    assert marker.rules == ReviewRules()
