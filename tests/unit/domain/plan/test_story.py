"""Which story is next and in which mode."""

from __future__ import annotations

from typing import Any

import pytest
from tests.plan_documents import story_json, tasks_document

from ralph.domain.plan.story import (
    IterationMode,
    estimate_text,
    estimated_iterations,
    is_complete,
    mode_for,
    next_step,
    unfinished_stories,
    waits_for,
)

FRESH: dict[str, Any] = {}
NEEDED = {"reviewStatus": "needs_review"}
CHANGES = {"reviewStatus": "changes_requested", "reviewFeedback": "x", "reviewCount": 1}
DONE = {"reviewStatus": "approved", "passes": True, "notes": "n", "reviewCount": 1}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([FRESH, NEEDED, CHANGES], ("C", "review-fix")),
        ([FRESH, NEEDED, DONE], ("B", "review")),
        ([FRESH, DONE, FRESH], ("A", "implement")),
        ([DONE, DONE, FRESH], ("C", "implement")),
        ([CHANGES, CHANGES, NEEDED], ("A", "review-fix")),
        ([DONE, DONE, DONE], None),
    ],
)
def test_fixing_comes_before_reviewing_before_implementing(
    states: list[dict[str, Any]], expected: tuple[str, str] | None
) -> None:
    document = tasks_document(*(story_json(key, **state) for key, state in zip("ABC", states, strict=True)))

    mode = mode_for(document)

    assert (mode and (mode.story.id, str(mode.mode))) == expected


def test_the_lowest_priority_number_comes_first_and_ties_keep_the_documents_order() -> None:
    document = tasks_document(story_json("A", priority=2), story_json("B"), story_json("C"))

    mode = mode_for(document)

    assert mode is not None
    assert mode.story.id == "B"


def test_a_story_waits_for_what_it_depends_on_until_that_is_approved() -> None:
    stories = [story_json("A", dependsOn=["B"]), story_json("B", priority=9)]
    document = tasks_document(*stories)
    mode = mode_for(document)
    assert mode is not None
    assert mode.story.id == "B"
    assert waits_for(document, document.story("A")) == ("B",)

    stories[1].update(NEEDED)
    assert waits_for(tasks_document(*stories), document.story("A")) == ("B",)
    stories[1].update(DONE)
    mode = mode_for(tasks_document(*stories))
    assert mode is not None
    assert mode.story.id == "A"


def test_a_review_waits_for_what_its_story_depends_on_too() -> None:
    document = tasks_document(
        story_json("B", dependsOn=["A"], reviewStatus="needs_review"), story_json("A", priority=2)
    )
    mode = mode_for(document)
    assert mode is not None
    assert (mode.story.id, mode.mode) == ("A", IterationMode.IMPLEMENT)
    assert next_step(document, document.story("B"), skip_review=False) == "waits for A"


def test_with_reviews_skipped_every_story_that_does_not_pass_is_to_be_implemented() -> None:
    document = tasks_document(story_json("A", **CHANGES), story_json("B", passes=True, notes="n"))

    mode = mode_for(document, skip_review=True)

    assert mode is not None
    assert (mode.story.id, mode.mode) == ("A", "implement")
    assert unfinished_stories(document, skip_review=True) == ("A",)
    assert unfinished_stories(document) == ("A", "B")


def test_complete_needs_approval_unless_reviews_are_skipped_and_an_empty_list_is_not_complete() -> None:
    passing = tasks_document(story_json("A", passes=True, notes="n"))
    assert is_complete(passing, skip_review=True)
    assert not is_complete(passing)
    assert is_complete(tasks_document(story_json("A", **DONE)))
    assert not is_complete(tasks_document(userStories=[]), skip_review=True)


def test_the_estimate_is_about_three_iterations_for_a_fresh_story() -> None:
    five = tasks_document(*(story_json(key) for key in "ABCDE"))
    assert estimated_iterations(five) == 15
    assert estimate_text(five) == "5 stories × ~3 iterations each = ~15 iterations needed"  # noqa: RUF001
    assert estimate_text(five, skip_review=True) == (
        "5 stories × ~1 iteration each = ~5 iterations needed"  # noqa: RUF001
    )
    mixed = tasks_document(story_json("A", **NEEDED), story_json("B", **CHANGES), story_json("C", **DONE))
    assert estimated_iterations(mixed) == 5
    assert (
        estimate_text(tasks_document(story_json("C", **DONE))) == "every story is done: no iterations needed"
    )
