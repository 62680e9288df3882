"""What is told about undone changes, to people and to the next session."""

from __future__ import annotations

from tests.plan_documents import story_json, tasks_document

from ralph.domain.plan.correction import PLAN, Violation, correct
from ralph.domain.plan.prompt import NAMED, describe_undone, in_short
from ralph.domain.plan.story import mode_for


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
