"""What stands of an agent's edit: no edit passes a story without a review, settles two, or weakens what proves them."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan_documents import story_json, tasks_document, tasks_json

from ralph.domain.plan.correction import AT_CAP, Correction, FailedProof, correct, refuse
from ralph.domain.plan.document import TasksDocument, problems, read_document
from ralph.domain.plan.stop_checks import check_invariants
from ralph.domain.plan.story import IterationMode, Review, ReviewRules, StoryMode, mode_for

NEEDED = {"reviewStatus": "needs_review"}
FIXING = {"reviewStatus": "changes_requested", "reviewCount": 1, "reviewFeedback": "handle empty"}
APPROVED = {"passes": True, "reviewStatus": "approved", "reviewCount": 1, "notes": "built"}


def judged(
    before: list[dict[str, Any]], after: list[dict[str, Any]], *, code_changed: bool = False, **rules: Any
) -> Correction:
    old = tasks_document(*before)
    review = ReviewRules(**rules)
    return correct(
        old,
        tasks_document(*after),
        mode_for(old, skip_review=review.skip),
        review,
        code_changed=code_changed,
    )


def fields(correction: Correction, key: str = "A") -> tuple[Any, ...]:
    story = correction.document.story(key)
    return story.passes, story.review, story.review_count, story.review_feedback


# --- single cases ------------------------------------------------------------------------------------------


def test_an_implementation_that_approves_itself_is_undone_and_told() -> None:
    correction = judged([story_json("A")], [story_json("A", **APPROVED)])

    assert fields(correction) == (False, None, 0, "")
    assert correction.moved is None
    assert {violation.item for violation in correction.violations} == {"A"}
    assert "Only review iterations may approve" in correction.violations[0].message


def test_notes_and_other_words_stay_when_review_fields_are_undone() -> None:
    after = story_json("A", **APPROVED, title="better", extra=[1])
    correction = judged([story_json("A")], [after])

    raw = correction.document.raw("A")
    assert (raw["notes"], raw["title"], raw["extra"]) == ("built", "better", [1])


def test_a_legal_implementation_stands_and_the_next_review_begins_with_no_feedback() -> None:
    correction = judged(
        [story_json("A")], [story_json("A", **NEEDED, reviewFeedback="looks great, approve!")]
    )

    assert correction.violations == ()
    assert correction.moved == "A"
    assert fields(correction) == (False, Review.NEEDED, 0, "")


def test_a_fix_that_forgot_to_clear_its_feedback_is_cleared() -> None:
    correction = judged([story_json("A", **FIXING)], [story_json("A", **{**FIXING, **NEEDED})])

    assert correction.violations == ()
    assert fields(correction) == (False, Review.NEEDED, 1, "")


def test_an_approval_by_review_stands() -> None:
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **APPROVED)])

    assert correction == Correction(tasks_document(story_json("A", **APPROVED)), (), "A")


def test_an_approval_by_a_session_that_changed_code_does_not_stand_but_its_refusal_does() -> None:
    undone = judged([story_json("A", **NEEDED)], [story_json("A", **APPROVED)], code_changed=True)
    assert fields(undone) == (False, Review.NEEDED, 0, "")
    assert "changed files itself" in undone.violations[0].message

    refused = judged([story_json("A", **NEEDED)], [story_json("A", **FIXING)], code_changed=True)
    assert fields(refused) == (False, Review.CHANGES, 1, "handle empty")


def test_an_approval_without_notes_does_not_stand() -> None:
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **{**APPROVED, "notes": ""})])

    assert correction.moved is None
    assert "notes are empty" in correction.violations[0].message


@pytest.mark.parametrize(
    ("state", "then"),
    [(NEEDED, APPROVED), ({}, APPROVED), ({}, NEEDED), (NEEDED, FIXING), (FIXING, NEEDED), (None, APPROVED)],
)
def test_an_approval_counts_only_if_no_other_story_was_moved(state: Any, then: dict[str, Any]) -> None:
    """``state`` None: the other story is a new one."""
    other = [] if state is None else [story_json("B", priority=2, **state)]
    before = tasks_document(story_json("A", **NEEDED), *other)
    review = StoryMode(before.story("A"), IterationMode.REVIEW)

    def after(**changes: Any) -> Correction:
        return correct(
            before, tasks_document(story_json("A", **changes), story_json("B", priority=2, **then)), review
        )

    both = after(**APPROVED)
    assert both.moved is None
    assert fields(both, "A") == (False, Review.NEEDED, 0, "")
    assert {violation.item for violation in both.violations} == {"A", "B"}
    assert after(**FIXING).moved == "A", "its refusal counts"


def test_a_story_that_waits_for_another_can_be_neither_submitted_nor_reviewed() -> None:
    before = [story_json("A"), story_json("B", dependsOn=["A"])]
    early = judged(before, [story_json("A"), story_json("B", dependsOn=["A"], **NEEDED)])
    assert early.moved is None
    assert "depends on A, not done yet" in early.violations[0].message

    freed = judged(before, [story_json("A"), story_json("B", **NEEDED)])
    assert freed.moved is None
    assert freed.document.story("B").depends_on == ("A",)

    turned = judged(before, [story_json("A", dependsOn=["B"]), story_json("B")])
    assert [turned.document.story(key).depends_on for key in "AB"] == [(), ("A",)], "not in a circle"

    split = judged(before, [story_json("A", dependsOn=["C"]), before[1], story_json("C")])
    assert split.violations == ()
    assert split.document.story("A").depends_on == ("C",)


def test_a_refusal_at_the_cap_by_a_session_that_changed_code_waits_for_a_person() -> None:
    refused = {**FIXING, "reviewCount": 1}
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **refused)], code_changed=True, cap=1)
    assert fields(correction) == (False, Review.CHANGES, 1, "handle empty")


def test_another_story_than_the_assigned_may_be_moved_if_it_is_the_only_one() -> None:
    stories = [story_json("A"), story_json("B"), story_json("C")]
    after = copy.deepcopy(stories)
    after[1].update(NEEDED)
    assert judged(stories, after).moved == "B"
    after[2].update(NEEDED)
    both = judged(stories, after)
    assert both.moved is None
    assert {violation.item for violation in both.violations} == {"B", "C"}


def test_vanished_stories_come_back_in_their_place() -> None:
    before = [story_json(key) for key in "ABCD"]
    correction = judged(before, [story_json("X"), story_json("C", **NEEDED)])

    assert [story.id for story in correction.document.stories] == ["A", "B", "X", "C", "D"]
    assert correction.moved == "C"
    assert [violation.item for violation in correction.violations] == ["A", "B", "D"]


def test_criteria_and_commands_may_be_added_to_but_not_weakened() -> None:
    before = tasks_document(story_json("A", acceptanceCriteria=["x", "y"]), verifyCommands=["make test"])
    mode = mode_for(before)
    more = tasks_document(
        story_json("A", acceptanceCriteria=["z", "y", "x"]), verifyCommands=["make test", "lint"]
    )
    assert correct(before, more, mode) == Correction(more)
    # What is put before the others could make them pass.
    assert correct(before, more.with_field("verifyCommands", ["lint", "make test"]), mode) == Correction(more)

    less = tasks_document(story_json("A", acceptanceCriteria=["x", "y?", "n"]), verifyCommands=["true"])
    correction = correct(before, less, mode)
    assert correction.document.story("A").acceptance_criteria == ("x", "y", "y?", "n")
    assert correction.document.verify_commands == ("make test", "true")
    assert [violation.item for violation in correction.violations] == ["tasks.json", "A"]


def test_verify_commands_that_vanish_come_back_and_the_branch_is_the_users() -> None:
    before = tasks_document(verifyCommands=["make test"])
    raw = {key: value for key, value in tasks_json(branchName="main").items() if key != "verifyCommands"}
    correction = correct(before, TasksDocument(raw), mode_for(before))

    assert correction.document.verify_commands == ("make test",)
    assert correction.document.branch_name == "ralph/search"


def test_splitting_adding_and_reordering_are_legal() -> None:
    before = [story_json("A"), story_json("B", priority=2)]
    after = [
        story_json("B", priority=1, dependsOn=["A-1"]),
        story_json("A-1"),
        story_json("A", dependsOn=["A-1"]),
    ]
    assert judged(before, after) == Correction(tasks_document(*after))


def test_a_new_story_that_is_done_already_starts_at_the_beginning() -> None:
    correction = judged([story_json("A")], [story_json("A"), story_json("B", **APPROVED)])

    assert fields(correction, "B") == (False, None, 0, "")
    assert "must start incomplete" in correction.violations[0].message


def test_nothing_moves_outside_of_a_judged_session() -> None:
    before = tasks_document(story_json("A", **NEEDED))
    correction = correct(before, tasks_document(story_json("A", **APPROVED), story_json("B")), None)

    assert fields(correction) == (False, Review.NEEDED, 0, "")
    assert [story.id for story in correction.document.stories] == ["A", "B"]
    assert "outside of a judged session" in correction.violations[0].message


def test_feedback_of_others_and_notes_of_passed_stories_are_put_back() -> None:
    before = [story_json("A"), story_json("B", **APPROVED)]
    after = [
        story_json("A", reviewFeedback="hm"),
        story_json("B", **{**APPROVED, "notes": "", "reviewFeedback": "never mind"}),
    ]
    correction = judged(before, after)

    assert correction.document == tasks_document(*before)
    assert len(correction.violations) == 3


# --- the cap -----------------------------------------------------------------------------------------------


def test_at_the_cap_the_harness_writes_the_auto_approval_if_the_agent_did_not() -> None:
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **FIXING)], cap=1)

    assert fields(correction) == (True, Review.APPROVED, 1, f"{AT_CAP} handle empty")
    assert correction.at_cap
    assert problems(correction.document) == ()


def test_the_agents_own_auto_approval_counts_at_the_cap_only() -> None:
    own = story_json("A", **APPROVED, reviewFeedback=f"{AT_CAP} names")
    at_cap = judged([story_json("A", **NEEDED)], [own], cap=1)
    assert (at_cap.violations, at_cap.at_cap, at_cap.moved) == ((), True, "A")

    early = judged([story_json("A", **NEEDED)], [own], cap=2)
    assert fields(early) == (False, Review.NEEDED, 0, "")
    assert "below the cap of 2" in early.violations[0].message


@pytest.mark.parametrize("after", [FIXING, {**APPROVED, "reviewFeedback": f"{AT_CAP} handle empty"}])
def test_the_strict_choice_never_approves_at_the_cap(after: dict[str, Any]) -> None:
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **after)], cap=1, block_at_cap=True)

    assert fields(correction) == (False, Review.CHANGES, 1, "handle empty")
    assert not correction.at_cap


def test_a_plain_approval_at_the_cap_is_no_auto_approval() -> None:
    correction = judged([story_json("A", **NEEDED)], [story_json("A", **APPROVED)], cap=1)
    assert not correction.at_cap


# --- reviews skipped ---------------------------------------------------------------------------------------


def test_with_reviews_skipped_one_story_may_pass_and_its_review_fields_stay() -> None:
    before = [story_json("A"), story_json("B")]
    correction = judged(before, [story_json("A", passes=True, notes="n"), story_json("B")], skip=True)
    assert (correction.violations, correction.moved) == ((), "A")
    assert fields(correction) == (True, None, 0, "")

    two = [story_json(key, passes=True, notes="n") for key in "AB"]
    assert judged(before, two, skip=True).moved is None
    approved = judged(before, [story_json("A", **APPROVED), story_json("B")], skip=True)
    assert fields(approved) == (False, None, 0, "")


# --- proofs ------------------------------------------------------------------------------------------------


def test_an_approval_with_failing_commands_becomes_changes_requested_with_their_output() -> None:
    document = tasks_document(story_json("A", **APPROVED, reviewFeedback=f"{AT_CAP} naming"))
    failed = [FailedProof("make test", "3 tests failed"), FailedProof("lint", "x" * 100_000)]

    refused = refuse(document, "A", failed, skip_review=False).story("A")

    assert (refused.passes, refused.review, refused.review_count) == (False, Review.CHANGES, 1)
    assert "Failing: `make test`, `lint`" in refused.review_feedback
    assert "3 tests failed" in refused.review_feedback
    assert "The review itself said: naming" in refused.review_feedback
    assert len(refused.review_feedback) < 8_000
    assert not check_invariants(tasks_document(story_json("A", **APPROVED)))


def test_where_reviews_are_skipped_a_failing_command_takes_only_the_passing_back() -> None:
    document = tasks_document(story_json("A", passes=True, notes="n"))
    refused = refuse(document, "A", [FailedProof("make test", "no")], skip_review=True).story("A")
    assert (refused.passes, refused.review, refused.review_feedback) == (False, None, "")


# --- any state, any edit -----------------------------------------------------------------------------------

CAP = 3
TEXTS = st.sampled_from(["", "done", f"{AT_CAP} leftovers", " "])


@st.composite
def legal_states(draw: st.DrawFn, key: str) -> dict[str, Any]:
    review = draw(st.sampled_from([None, *Review]))
    approved = review is Review.APPROVED
    return story_json(
        key,
        passes=approved,
        notes="built" if approved else draw(TEXTS),
        reviewStatus=review,
        reviewCount=draw(st.integers(0, CAP)),
        reviewFeedback="fix it" if review is Review.CHANGES else draw(TEXTS),
        acceptanceCriteria=draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3)),
        priority=draw(st.integers(0, 3)),
    )


@st.composite
def documents(draw: st.DrawFn) -> TasksDocument:
    keys = draw(st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=4, unique=True))
    return TasksDocument(
        tasks_json(
            *(draw(legal_states(key)) for key in keys),
            verifyCommands=draw(st.lists(st.sampled_from(["test", "lint"]), max_size=2)),
        )
    )


@st.composite
def edits(draw: st.DrawFn, before: TasksDocument) -> TasksDocument:
    """Anything an agent could write that is still a document: mostly changes of what is there, and some strangers."""
    changes = st.fixed_dictionaries(
        {},
        optional={
            "passes": st.booleans(),
            "reviewStatus": st.sampled_from([None, *Review]),
            "reviewCount": st.integers(0, CAP + 2),
            "reviewFeedback": TEXTS,
            "notes": TEXTS,
            "acceptanceCriteria": st.lists(st.sampled_from("xyzw"), min_size=1, max_size=3),
            "priority": st.integers(0, 3),
            "title": TEXTS,
        },
    )
    stories = [{**raw, **draw(changes)} for raw in before.data["userStories"] if draw(st.integers(0, 4))]
    known = {story["id"] for story in stories} | set(before.by_id)
    stories += [
        {**story_json(key), **draw(changes)}
        for key in draw(st.lists(st.sampled_from("VWXYZ"), max_size=2, unique=True))
        if key not in known
    ]
    stories = draw(st.permutations(stories))
    commands = draw(st.lists(st.sampled_from(["test", "lint", "true"]), max_size=3))
    return TasksDocument({**before.data, "verifyCommands": commands, "userStories": list(stories)})


@st.composite
def sessions(draw: st.DrawFn) -> tuple[TasksDocument, TasksDocument, StoryMode | None, ReviewRules, bool]:
    rules = ReviewRules(cap=CAP, skip=draw(st.booleans()), block_at_cap=draw(st.booleans()))
    before = draw(documents())
    mode = mode_for(before, skip_review=rules.skip) if draw(st.integers(0, 5)) else None
    return before, draw(edits(before)), mode, rules, draw(st.booleans())


@given(sessions())
def test_no_edit_passes_a_story_without_a_review_settles_two_or_weakens_a_proof(
    session: tuple[TasksDocument, TasksDocument, StoryMode | None, ReviewRules, bool],
) -> None:
    before, after, mode, rules, code_changed = session

    correction = correct(before, after, mode, rules, code_changed=code_changed)
    document = correction.document

    passed = [
        story
        for story in document.stories
        if story.passes and (story.id not in before.by_id or not before.story(story.id).passes)
    ]
    for story in passed:
        assert mode is not None
        if rules.skip:
            assert mode.mode is IterationMode.IMPLEMENT
        else:
            assert mode.mode is IterationMode.REVIEW
            assert before.story(story.id).review is Review.NEEDED
            assert story.review_count == before.story(story.id).review_count + 1
            assert not (rules.block_at_cap and story.review_feedback.startswith(AT_CAP))
    moved = [key for key, story in before.by_id.items() if document.story(key).state != story.state]
    assert moved == ([] if correction.moved is None else [correction.moved])
    for key, story in before.by_id.items():
        kept = document.story(key)
        assert not Counter(story.acceptance_criteria) - Counter(kept.acceptance_criteria)
        assert not story.passes or kept.passes
    assert not Counter(before.verify_commands) - Counter(document.verify_commands)
    assert all(
        document.story(key).state.review_count == 0 for key in document.by_id.keys() - before.by_id.keys()
    )
    # What stands is a sound document, and looking at it again finds nothing more.
    assert isinstance(read_document(document.text()), TasksDocument)
    assert problems(document) == ()
    assert not check_invariants(document, rules)
    again = correct(before, document, mode, rules, code_changed=code_changed)
    assert again.violations == ()
    assert again.document == document


@given(documents())
def test_leaving_the_document_alone_is_always_legal(document: TasksDocument) -> None:
    assert correct(document, document, mode_for(document), ReviewRules(cap=CAP)).violations == ()
