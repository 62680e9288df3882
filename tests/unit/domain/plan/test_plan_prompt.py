"""The prompt of one iteration over a plan: its story, progress.txt, and what is said about undone changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan_documents import story_json, tasks_document

from ralph.adapters.documents.plan_start import fresh_plan, is_scaffold
from ralph.domain.plan.correction import PLAN, Violation, correct
from ralph.domain.plan.prompt import (
    ENTRIES_CHARS,
    NAMED,
    PATTERNS_CHARS,
    describe_undone,
    in_short,
    newest_progress,
    plan_prompt,
    with_variables,
)
from ralph.domain.plan.story import ReviewRules, mode_for

FRESH = fresh_plan(project="shop", date="2030-01-02", name="search")


def prompt(*stories: dict[str, Any], rules: ReviewRules = ReviewRules(), **values: Any) -> str:  # noqa: B008
    document = tasks_document(*stories, verifyCommands=["make test"])
    mode = mode_for(document, skip_review=rules.skip)
    assert mode is not None
    values = {"template": FRESH["prompt.md"], "folder": "ralph", "iteration": 3, "maximum": 15, **values}
    return plan_prompt(document, mode, rules, **values)


def test_the_template_is_filled_in_and_the_story_named() -> None:
    text = prompt(story_json("US-1", title="Filters", description="by state", acceptanceCriteria=["a", "b"]))

    assert "# Ralph Loop: iteration 3 of 15\n" in text
    assert "$RALPH" not in text
    assert (
        "Mode: **Implement**\nStory: **US-1**: Filters\n\nby state\n\nAcceptance criteria:\n- a\n- b" in text
    )
    assert "- `make test`" in text


def test_other_dollar_signs_are_the_users() -> None:
    assert with_variables("$HOME ${RALPH_DIR}x $RALPH_UNKNOWN $5 $RALPH_DIR", {"RALPH_DIR": "p"}) == (
        "$HOME px $RALPH_UNKNOWN $5 p"
    )


def test_a_run_without_a_limit_says_so() -> None:
    assert "iteration 3 of unlimited" in prompt(story_json(), maximum=None)


def test_a_fix_has_its_feedback_and_a_review_its_number() -> None:
    changes: dict[str, Any] = {
        "reviewStatus": "changes_requested",
        "reviewFeedback": "empty input",
        "reviewCount": 1,
    }
    assert "reviewFeedback to address:\n\nempty input" in prompt(story_json(**changes))
    needed: dict[str, Any] = {"reviewStatus": "needs_review", "reviewCount": 1}
    assert "This is review 2 of at most 5: set `reviewCount` to 2." in prompt(story_json(**needed))
    assert "The cap is reached" in prompt(story_json(**needed), rules=ReviewRules(cap=2))
    strict = prompt(story_json(**needed), rules=ReviewRules(cap=2, block_at_cap=True))
    assert "a person decides then" in strict


def test_skipping_reviews_is_said_instead() -> None:
    assert "Reviews are skipped in this run." in prompt(story_json(), rules=ReviewRules(skip=True))


def test_corrections_progress_and_another_promise_are_added() -> None:
    text = prompt(
        story_json(), told=("Undone: x",), progress="## Codebase Patterns\n- bun\n---\n## Iteration 1\n", promise="SHIPPED"
    )  # fmt: skip
    assert "## What the harness found after the previous session\n\n- Undone: x" in text
    assert "- bun\n\n---\n\n## Iteration 1" in text
    assert "`<promise>SHIPPED</promise>`" in text


def test_the_templates_have_their_documented_form() -> None:
    prd = FRESH["prd.md"]
    for section in (
        "1. Summary", "2. Problem Statement", "3. Goals", "4. Non-Goals", "5. Background & Context", "6. Technical Design",
        "6a. Database Changes", "6b. API Contracts", "6c. Core Logic Changes", "6d. Frontend Changes",
        "6e. Infrastructure / Config Changes", "7. Constraints", "8. Edge Cases & Error Handling", "9. Risks & Mitigations",
        "10. Open Questions",
    ):  # fmt: skip
        assert f"# {section}\n" in prd
    assert is_scaffold(prd)
    assert not is_scaffold(f"{prd}\nPeople cannot filter.")
    assert FRESH["progress.txt"] == (
        "# Ralph Progress Log\nStarted: 2030-01-02\nPRD: search\n\n## Codebase Patterns\n"
        "- (Reusable patterns discovered during this loop)\n\n---\n"
    )


@pytest.mark.parametrize(
    "rule",
    ["One story per iteration", "NEVER set `passes: true`", "Do not weaken tests", "If you are stuck", "prd.md is read-only",
     "Review iterations do not fix code", "address ALL feedback items", "You may add, split and reorder"],
)  # fmt: skip
def test_the_prompt_has_the_hard_rules(rule: str) -> None:
    assert rule in FRESH["prompt.md"].split("## Hard rules")[1]


# --- progress.txt: all the patterns, the newest entries ---

HEAD = "# Ralph Progress Log\nStarted: 2030-01-01\n\n## Codebase Patterns\n- use bun\n"


def test_a_short_log_is_there_whole() -> None:
    assert newest_progress(f"{HEAD}\n---\n\n## Iteration 1\n- did it\n---\n") == (
        f"{HEAD.strip()}\n\n---\n\n## Iteration 1\n- did it\n---"
    )


def test_of_a_long_log_the_patterns_and_the_newest_entries_stay() -> None:
    entries = "\n".join(f"## Iteration {n}\n{'x' * 1000}\n---" for n in range(100))

    bounded = newest_progress(f"{HEAD}\n---\n{entries}")

    assert bounded.startswith(HEAD.strip())
    assert "## Iteration 99" in bounded
    assert "## Iteration 0\n" not in bounded
    assert "[95 earlier entries left out]" in bounded
    assert len(bounded) < ENTRIES_CHARS + 500


def test_an_entry_that_is_too_long_by_itself_keeps_its_end() -> None:
    bounded = newest_progress(f"{HEAD}---\n## Iteration 1\n{'x' * 50_000} the end")
    assert bounded.endswith("the end")
    assert len(bounded) < ENTRIES_CHARS + 500


def test_a_log_without_a_line_or_without_anything_is_borne() -> None:
    assert newest_progress("") == ""
    assert newest_progress("just words") == "just words"


@given(st.text(alphabet="#-\n ax", max_size=200), st.integers(1, 50))
def test_whatever_is_in_it_the_result_is_bounded(text: str, limit: int) -> None:
    assert len(newest_progress(text * 50, entries_chars=limit)) <= PATTERNS_CHARS + limit + 100


# --- undone changes ---


def test_people_are_told_of_each_story_once_and_the_session_of_each_change() -> None:
    before = tasks_document(story_json("US-001"), story_json("US-002"))
    after = tasks_document(
        story_json("US-001", passes=True, reviewStatus="approved", reviewCount=1, notes="n"),
        story_json("US-002", passes=True, notes="n"),
    )

    violations = correct(before, after, mode_for(before)).violations

    said = in_short(violations, plan=PLAN)
    assert said.count("US-001") == 1
    assert 'passes false → true, reviewStatus null → "approved", reviewCount 0 → 1' in said
    assert said.endswith("Story US-002 had illegal transition: passes false → true (and 1 more)"), (
        "another rule is broken too"
    )
    assert len(describe_undone(violations)) == len(violations) == 5


def test_what_concerns_the_plan_itself_is_all_said_and_a_single_sentence_stays_as_it_is() -> None:
    violations = [
        Violation(PLAN, "branchName is the user's: it was put back."),
        Violation(PLAN, "verifyCommands may be added to: they were put back."),
        Violation("A", "One story per iteration."),
    ]
    assert in_short(violations, plan=PLAN) == "; ".join(violation.message for violation in violations)


def test_of_many_stories_only_some_are_named() -> None:
    violations = [Violation(f"US-{number}", f"Story US-{number} is gone.") for number in range(50)]
    assert in_short(violations, plan=PLAN).count("is gone") == NAMED
