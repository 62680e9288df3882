"""The four checks before a stop: every case, with its message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plan_documents import story_json, tasks_document, tasks_json

from ralph.domain.plan.stop_checks import (
    check_uncommitted,
    snapshot_from_json,
    snapshot_json,
    snapshot_of,
    stop_reasons,
)
from ralph.domain.plan.story import IterationMode, ReviewRules, ReviewState

APPROVED = {"passes": True, "reviewStatus": "approved", "reviewCount": 1, "notes": "built"}
NEEDED = {"reviewStatus": "needs_review"}


def reasons(
    *stories: dict[str, Any],
    before: list[dict[str, Any]] | None = None,
    mode: str = "implement",
    **rules: Any,
) -> tuple[str, ...]:
    return stop_reasons(
        json.dumps(tasks_json(*stories)),
        snapshot=None if before is None else snapshot_of(tasks_document(*before)),
        mode=None if before is None else IterationMode(mode),
        rules=ReviewRules(**rules),
    )


def test_check_1_blocks_on_a_missing_or_malformed_task_list_and_names_the_story_and_field() -> None:
    assert stop_reasons(None, snapshot=None, mode=None) == ("tasks.json does not exist.",)
    assert reasons(story_json("US-001", priority="high")) == (
        "tasks.json is malformed: US-001: priority must be a number, not a string",
    )
    assert reasons(story_json("US-001", reviewCount=-1)) == (
        "tasks.json is malformed: US-001: reviewCount must not be negative, but is -1",
    )
    assert reasons(story_json("US-001", **{**APPROVED, "notes": " "})) == (
        "tasks.json is malformed: US-001: passes is true but notes is empty; write down what was done",
    )
    assert reasons(story_json("US-001")) == ()


@pytest.mark.parametrize("status", [None, "needs_review", "changes_requested"])
def test_check_2_blocks_a_story_that_passes_without_an_approval(status: str | None) -> None:
    (reason,) = reasons(
        story_json("US-001", passes=True, notes="n", reviewStatus=status, reviewFeedback="look")
    )
    shown = "null" if status is None else status
    assert reason == (
        f"Story US-001 has passes=true but reviewStatus is '{shown}', not 'approved'. Only review iterations may "
        "approve stories. Set passes back to false or complete the review cycle."
    )


def test_check_2_lets_an_approved_story_pass() -> None:
    assert reasons(story_json("US-001", **APPROVED)) == ()


def test_check_2_blocks_changes_without_feedback_and_approval_without_passing() -> None:
    (reason,) = reasons(story_json("US-001", reviewStatus="changes_requested", reviewCount=1))
    assert "feedback required" in reason
    (reason,) = reasons(story_json("US-001", reviewStatus="approved", reviewCount=1))
    assert "out of sync" in reason


def test_check_2_blocks_a_review_count_beyond_the_cap_plus_one() -> None:
    assert reasons(story_json("US-001", reviewCount=3), cap=2) == ()
    (reason,) = reasons(story_json("US-001", reviewCount=4), cap=2)
    assert "reviewCount 4" in reason


def test_skipping_reviews_skips_checks_2_and_2_5() -> None:
    story = story_json("US-001", passes=True, notes="n")
    assert reasons(story, before=[story_json("US-001")], skip=True) == ()
    assert len(reasons(story, before=[story_json("US-001")])) == 2


def illegal_implement(change: str) -> str:
    return (
        "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "
        f"Story US-001 had illegal transition: {change}."
    )


def illegal_fix(change: str) -> str:
    return (
        "Review-fix iterations cannot approve stories. Story US-001 must go back to needs_review for re-review. "
        f"Illegal transition: {change}."
    )


def illegal_review(details: str) -> str:
    return f"Review iteration made illegal transition on story US-001: {details}."


REVIEWED = {"reviewStatus": "needs_review", "reviewCount": 1}
FIXING = {"reviewStatus": "changes_requested", "reviewCount": 1, "reviewFeedback": "empty input"}


@pytest.mark.parametrize(
    ("mode", "before", "after", "expected"),
    [
        ("implement", {}, {"passes": True, "notes": "n"}, illegal_implement("passes false → true")),
        ("implement", {}, {"reviewStatus": "approved"}, illegal_implement('reviewStatus null → "approved"')),
        ("implement", {}, APPROVED, illegal_implement('reviewStatus null → "approved"')),
        ("implement", {}, {"reviewCount": 1}, illegal_implement("reviewCount 0 → 1")),
        ("implement", {}, NEEDED, None),
        ("implement", {}, {}, None),
        ("implement", FIXING, {**FIXING, **NEEDED, "reviewFeedback": ""}, illegal_implement('reviewStatus "changes_requested" → "needs_review"')),
        ("review", REVIEWED, {**APPROVED, "reviewCount": 2}, None),
        ("review", REVIEWED, {**FIXING, "reviewCount": 2}, None),
        ("review", REVIEWED, {**FIXING, "reviewCount": 2, "reviewFeedback": " "}, illegal_review("changes_requested needs a reviewFeedback that says what to fix")),
        ("review", REVIEWED, {**APPROVED, "reviewCount": 1}, illegal_review("review must increment reviewCount")),
        ("review", REVIEWED, REVIEWED, illegal_review("review must increment reviewCount")),
        ("review", REVIEWED, {**APPROVED, "reviewCount": 3}, illegal_review("reviewCount must grow by exactly 1, not 1 → 3")),
        ("review", {}, {**APPROVED, "reviewCount": 1}, illegal_review("its reviewStatus was null, it did not wait for a review")),
        ("review", REVIEWED, {**REVIEWED, "reviewCount": 2}, illegal_review('it must end as approved with passes=true or as changes_requested with passes=false, not as "needs_review" with passes=false')),
        ("review-fix", FIXING, {**FIXING, "passes": True, "notes": "n"}, illegal_fix("passes false → true")),
        ("review-fix", FIXING, APPROVED, illegal_fix('reviewStatus "changes_requested" → "approved"')),
        ("review-fix", FIXING, {**NEEDED, "reviewCount": 1}, None),
        ("review-fix", FIXING, {**NEEDED, "reviewCount": 2}, illegal_fix("reviewCount 1 → 2")),
        ("review-fix", FIXING, FIXING, None),
    ],
)  # fmt: skip
def test_check_2_5_allows_what_the_mode_allows_and_nothing_else(
    mode: str, before: dict[str, Any], after: dict[str, Any], expected: str | None
) -> None:
    found = reasons(story_json("US-001", **after), before=[story_json("US-001", **before)], mode=mode)

    assert found == () if expected is None else expected in found


@pytest.mark.parametrize("mode", list(IterationMode))
def test_new_stories_are_legal_in_every_mode_in_their_initial_state_only(mode: str) -> None:
    before = [story_json("US-001", **REVIEWED)]
    legal = {"review": {**APPROVED, "reviewCount": 2}}.get(mode, REVIEWED)

    assert reasons(story_json("US-001", **legal), story_json("US-002"), before=before, mode=mode) == ()
    (reason,) = reasons(
        story_json("US-001", **legal), story_json("US-002", **APPROVED), before=before, mode=mode
    )
    assert "New story US-002 must start incomplete" in reason


def test_two_stories_in_one_review_are_blocked_and_so_are_two_implementations() -> None:
    after = {**APPROVED, "reviewCount": 2}
    found = reasons(
        story_json("US-001", **after),
        story_json("US-002", **after),
        before=[story_json("US-001", **REVIEWED), story_json("US-002", **REVIEWED)],
        mode="review",
    )
    assert found[0] == illegal_review("review may only modify one story")
    assert len(found) == 2

    found = reasons(
        story_json("US-001", **NEEDED),
        story_json("US-002", **NEEDED),
        before=[story_json("US-001"), story_json("US-002")],
    )
    assert all(reason.startswith("One story per iteration") for reason in found)
    assert len(found) == 2


def test_a_story_that_was_submitted_before_what_it_depends_on_blocks() -> None:
    before = [story_json("US-001"), story_json("US-002", dependsOn=["US-001"])]
    (reason,) = reasons(before[0], {**before[1], **NEEDED}, before=before)
    assert "US-002 depends on US-001, not done yet" in reason


def test_a_fix_is_asked_to_clear_the_feedback_that_it_addressed() -> None:
    fixing = story_json(reviewStatus="changes_requested", reviewCount=1, reviewFeedback="handle empty")
    fixed = {**fixing, "reviewStatus": "needs_review"}
    (reason,) = reasons(fixed, before=[fixing], mode="review-fix")
    assert 'set reviewFeedback to ""' in reason
    assert reasons({**fixed, "reviewFeedback": ""}, before=[fixing], mode="review-fix") == ()


def test_a_vanished_story_blocks() -> None:
    (reason,) = reasons(story_json("US-001"), before=[story_json("US-001"), story_json("US-002")])
    assert reason.startswith("Story US-002 is gone")


def test_without_a_snapshot_check_2_still_holds() -> None:
    assert reasons(story_json("US-001", **APPROVED)) == ()
    (reason,) = reasons(story_json("US-001", passes=True, notes="n"))
    assert "not 'approved'" in reason


def test_check_3_blocks_on_uncommitted_changes_and_says_what_to_do() -> None:
    assert check_uncommitted([]) == ()
    (reason,) = check_uncommitted(["a.py", "ralph/tasks.json"], folder="plans/search")
    assert "uncommitted changes (a.py, ralph/tasks.json)" in reason
    assert "plans/search/progress.txt" in reason
    assert "Commit ALL changes" in reason
    (reason,) = check_uncommitted([f"{n}.py" for n in range(50)])
    assert "9.py, …)" in reason


def test_all_checks_are_told_at_once() -> None:
    found = stop_reasons("{", snapshot=None, mode=None, uncommitted=["a.py"])
    assert len(found) == 2


def test_the_snapshot_of_ralph_active_is_read_back_and_a_strange_one_is_none() -> None:
    snapshot = snapshot_of(tasks_document(story_json("A", **APPROVED), story_json("B")))
    assert snapshot_json(snapshot)["A"] == {"passes": True, "reviewStatus": "approved", "reviewCount": 1}
    assert snapshot_from_json(json.loads(json.dumps(snapshot_json(snapshot)))) == snapshot
    assert snapshot["B"] == ReviewState()
    good = {"passes": False, "reviewStatus": None, "reviewCount": 0}
    strangers: list[object] = [
        None, [], {"A": 1}, {"A": {}}, {"A": {**good, "passes": 0}}, {"A": {**good, "reviewStatus": "x"}},
        {"A": {**good, "reviewCount": True}},
    ]  # fmt: skip
    for strange in strangers:
        assert snapshot_from_json(strange) is None
