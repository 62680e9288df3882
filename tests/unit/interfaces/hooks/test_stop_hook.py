"""Stop in a session of a plan: the four checks, and which sessions they apply to."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.plan_documents import story_json, tasks_json

from ralph.domain.plan.active_marker import MARKER_FILE
from ralph.interfaces.hooks.places import MARKER

from .hook_events import SESSION, asked

Story = dict[str, Any]


def story(key: str = "US-001", **fields: Any) -> Story:
    return story_json(key, **{"notes": "what was done", **fields})


class Plan:
    """A project with a plan and a marker, as a run over it leaves them before each session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.marker: dict[str, Any] = {
            "pid": os.getppid(),
            "timestamp": "",
            "mode": "direct",
            "max_iterations": 15,
        }
        (root / "ralph").mkdir(parents=True)

    def tasks(self, *stories: Story) -> None:
        (self.root / "ralph" / "tasks.json").write_text(json.dumps(tasks_json(*stories)))

    def began(self, mode: str, *stories: Story) -> None:
        fields = ("passes", "reviewStatus", "reviewCount")
        self.marker["iterationMode"] = mode
        self.marker["preIterationSnapshot"] = {
            one["id"]: {name: one[name] for name in fields} for one in stories
        }

    def commit(self, top: Path | None = None) -> None:
        for arguments in (("init", "-q"), ("add", str(self.root / "ralph")), ("commit", "-q", "-m", "plan")):
            subprocess.run(
                ["git", *arguments], cwd=top or self.root, check=True, timeout=60, capture_output=True
            )

    def stop(self, *, starts: Path | None = None, **more: Any) -> str:
        """Why the stop is refused; empty if it is not."""
        (self.root / ".ralph-active").write_text(json.dumps(self.marker))
        answer = asked("stop", starts or self.root, hook_event_name="Stop", **more)
        if answer is None or "decision" not in answer:
            return ""
        assert answer["decision"] == "block"
        return str(answer["reason"])


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path / "project")


INVARIANTS = [
    ({"passes": True}, "not 'approved'"),
    ({"passes": True, "reviewStatus": "needs_review"}, "not 'approved'"),
    ({"passes": True, "reviewStatus": "changes_requested", "reviewFeedback": "x"}, "not 'approved'"),
    ({"passes": True, "reviewStatus": "approved"}, ""),
    ({"reviewStatus": "changes_requested"}, "feedback required"),
    ({"reviewStatus": "approved"}, "out of sync"),
    ({"reviewCount": -1}, "must not be negative"),
    ({"reviewCount": 7}, "reviewCount 7"),
    ({"notes": "", "passes": True, "reviewStatus": "approved"}, "notes is empty"),
    ({"title": 5}, "title must be a string"),
    ({}, ""),
]


@pytest.mark.parametrize(("fields", "reason"), INVARIANTS)
def test_end_states_that_cannot_be_are_refused(plan: Plan, fields: Story, reason: str) -> None:
    """Without a snapshot, only checks 1 and 2 have anything to say."""
    plan.tasks(story(**fields))
    found = plan.stop()
    assert reason in found
    assert bool(reason) == bool(found)


FRESH, WAITING = story(), story(reviewStatus="needs_review", reviewCount=1)
REFUSED = story(reviewStatus="changes_requested", reviewCount=1, reviewFeedback="fix")
APPROVED: Story = {"passes": True, "reviewStatus": "approved"}
TRANSITIONS: list[tuple[str, list[Story], list[Story], str]] = [
    ("implement", [FRESH], [story(**APPROVED)], "Implement iterations cannot set passes=true"),
    ("implement", [FRESH], [story(reviewCount=1)], "reviewCount 0 → 1"),
    ("implement", [FRESH], [story(reviewStatus="needs_review")], ""),
    ("implement", [FRESH], [FRESH, story("US-002")], ""),
    ("implement", [FRESH], [FRESH, story("US-002", **APPROVED)], "must start incomplete"),
    ("review", [WAITING], [story(**APPROVED, reviewCount=2)], ""),
    (
        "review",
        [WAITING],
        [story(reviewStatus="changes_requested", reviewCount=2, reviewFeedback="fix")],
        "",
    ),
    ("review", [WAITING], [WAITING], "review must increment reviewCount"),
    ("review", [WAITING], [story(**APPROVED, reviewCount=1)], "review must increment reviewCount"),
    (
        "review",
        [WAITING, story("US-002", reviewStatus="needs_review")],
        [story(**APPROVED, reviewCount=2), story("US-002", **APPROVED, reviewCount=1)],
        "review may only modify one story",
    ),
    ("review-fix", [REFUSED], [story(**APPROVED, reviewCount=1)], "Review-fix iterations cannot approve"),
    ("review-fix", [REFUSED], [WAITING], ""),
    ("review-fix", [REFUSED], [story(reviewStatus="needs_review", reviewCount=2)], "reviewCount 1 → 2"),
]


@pytest.mark.parametrize(("mode", "before", "after", "reason"), TRANSITIONS)
def test_only_the_modes_own_transitions_are_let_through(
    plan: Plan, mode: str, before: list[Story], after: list[Story], reason: str
) -> None:
    plan.began(mode, *before)
    plan.tasks(*after)
    found = plan.stop()
    assert reason in found
    assert bool(reason) == bool(found)


def test_without_reviews_neither_end_state_nor_transition_is_checked(plan: Plan) -> None:
    plan.marker["skipReview"] = True
    plan.began("implement", FRESH)
    plan.tasks(story(passes=True))
    assert plan.stop() == ""
    plan.tasks(story(passes="yes"))
    assert "passes must be true or false" in plan.stop()


def test_without_a_snapshot_the_user_is_warned_and_the_end_state_still_checked(plan: Plan) -> None:
    plan.tasks(story())
    plan.stop()
    answer = asked("stop", plan.root)
    assert answer is not None
    assert "preIterationSnapshot is missing" in answer["systemMessage"]
    plan.tasks(story(passes=True))
    assert "not 'approved'" in plan.stop()


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"userStories": []}'])
def test_a_damaged_or_missing_tasks_json_is_refused(plan: Plan, text: str | None) -> None:
    if text is not None:
        (plan.root / "ralph" / "tasks.json").write_text(text)
    assert "tasks.json" in plan.stop()


def test_uncommitted_work_is_refused_with_what_to_do_and_ralphs_own_files_do_not_count(plan: Plan) -> None:
    plan.began("implement", FRESH)
    plan.tasks(FRESH)
    plan.commit()
    (plan.root / ".ralph").mkdir()
    (plan.root / ".ralph" / "x").touch()
    assert plan.stop() == ""
    (plan.root / "new file.txt").touch()
    refused = plan.stop()
    assert "uncommitted changes (new file.txt)" in refused
    assert "Update ralph/progress.txt" in refused
    assert "CLAUDE.md or .claude/rules/" in refused


def test_what_was_uncommitted_before_the_session_is_not_its_fault(plan: Plan) -> None:
    plan.began("implement", FRESH)
    plan.tasks(FRESH)
    plan.commit()
    odd = os.fsdecode(b"odd \xe4.txt")
    for name in ("mine/a.txt", odd):
        (plan.root / name).parent.mkdir(exist_ok=True)
        (plan.root / name).touch()
    plan.marker["uncommittedBefore"] = ["mine/a.txt", odd]
    assert plan.stop() == ""
    (plan.root / "mine" / "b.txt").touch()
    assert "uncommitted changes (mine/b.txt)" in plan.stop()


def test_in_a_part_of_a_repository_they_are_named_from_its_top(plan: Plan) -> None:
    plan.began("implement", FRESH)
    plan.tasks(FRESH)
    plan.commit(plan.root.parent)
    (plan.root / "mine.txt").touch()
    assert "mine.txt" in plan.stop()
    plan.marker["uncommittedBefore"] = ["project/mine.txt"]
    assert plan.stop() == ""


def test_the_plan_may_be_elsewhere_in_the_project(plan: Plan) -> None:
    (plan.root / "ralph").rename(plan.root / "feature")
    plan.marker["ralphDir"] = "feature"
    (plan.root / "feature" / "tasks.json").write_text("{")
    assert "not valid JSON" in plan.stop()


def test_the_marker_is_found_from_below(plan: Plan) -> None:
    below = plan.root / "src" / "deep"
    below.mkdir(parents=True)
    assert "tasks.json does not exist" in plan.stop(starts=below)


def test_many_reasons_are_cut_short(plan: Plan) -> None:
    plan.tasks(*(story(f"US-{number}", passes=True) for number in range(500)))
    refused = plan.stop()
    assert len(refused) < 10_000
    assert "and 480 more" in refused


# --- for whom ----------------------------------------------------------------------------------------------


def test_without_a_marker_nobody_is_kept(tmp_path: Path) -> None:
    assert asked("stop", tmp_path) is None


NOBODY = 2**30
"""No process has this number."""


def test_a_leftover_of_a_killed_run_keeps_nobody(plan: Plan) -> None:
    plan.marker["pid"] = NOBODY
    assert plan.stop() == ""
    assert plan.stop(environ={"RALPH_RUN_ID": "another"}) == ""
    plan.marker["pid"] = 1  # above everybody, so a marker that came with a clone would name it
    assert plan.stop() == ""


def test_somebody_elses_session_beside_the_run_is_not_kept(plan: Plan) -> None:
    beside = subprocess.Popen(["sleep", "600"])
    try:
        plan.marker["pid"] = beside.pid
        assert plan.stop() == ""
        assert plan.stop(environ={"RALPH_RUN_ID": "the run"})
    finally:
        beside.kill()
        beside.wait()


def test_a_session_of_another_run_that_a_session_started_is_not_kept(plan: Plan) -> None:
    plan.marker["runId"] = "the plan's"
    assert plan.stop(environ={"RALPH_RUN_ID": "the plan's"})
    assert plan.stop(environ={"RALPH_RUN_ID": "its child"}) == ""


def test_in_a_sandbox_the_run_is_believed_to_be_alive(plan: Plan) -> None:
    plan.marker |= {"pid": NOBODY, "mode": "sandbox"}
    assert plan.stop(environ={"RALPH_RUN_ID": "the run"})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "x"}', '{"pid": -1}', "\xff"])
def test_something_else_of_that_name_is_no_marker(plan: Plan, text: str) -> None:
    (plan.root / ".ralph-active").write_text(text, encoding="latin-1")
    assert asked("stop", plan.root) is None


def test_the_name_of_the_marker_is_the_engines() -> None:
    assert MARKER == MARKER_FILE


# --- the cap on consecutive blocks -------------------------------------------------------------------------


def blocks(plan: Plan, **more: Any) -> list[bool]:
    """Ten stops in a row without any work between."""
    return [bool(plan.stop(stop_hook_active=turn > 0, **more)) for turn in range(10)]


def test_after_the_last_block_that_counts_the_session_may_stop(plan: Plan) -> None:
    assert blocks(plan) == [True] * 8 + [False] * 2
    answer = asked("stop", plan.root, stop_hook_active=True)
    assert answer is not None
    assert "refused 8 times in a row" in answer["systemMessage"]


def test_the_cap_is_the_one_that_claude_code_was_given(plan: Plan) -> None:
    assert blocks(plan, environ={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "3"}) == [True] * 3 + [False] * 7


@pytest.mark.parametrize("value", ["0", "", "many", "-1"])
def test_a_cap_that_makes_no_sense_is_the_usual_one(plan: Plan, value: str) -> None:
    assert sum(blocks(plan, environ={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": value})) == 8


def test_a_tool_call_or_a_new_prompt_begins_the_count_anew(plan: Plan) -> None:
    assert sum(blocks(plan)) == 8
    asked("context", plan.root, hook_event_name="PostToolUse")
    assert plan.stop(stop_hook_active=True)
    assert sum(blocks(plan)) == 8


def test_sessions_are_counted_apart(plan: Plan) -> None:
    assert sum(blocks(plan)) == 8
    assert sum(blocks(plan, session=SESSION[::-1])) == 8
