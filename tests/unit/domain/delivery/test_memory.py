"""What is on record about a delivery, and what follows from it for the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.delivery.deliver import Ask, Done, Fix, Rerun, Update, deliver
from ralph.domain.delivery.facts import (
    CheckRun,
    CheckState,
    Facts,
    PullRequest,
    PullState,
    Remark,
    RemarkKind,
    Tried,
)
from ralph.domain.delivery.memory import MOST_EARLIER, Answer, Delivered
from ralph.domain.delivery.standing import begun_again
from ralph.domain.delivery.texts import answer_text, is_own

HEAD, NEXT = "a" * 40, "b" * 40
PULL = PullRequest(7, "https://forge/7", "Title", PullState.OPEN, "feature", HEAD, "main", is_mergeable=True)
FAILED = CheckRun("build", CheckState.FAILED, HEAD, "10", 5.0)
REMARK = Remark("thread-1", RemarkKind.THREAD, "ann", "rename it", True)


@pytest.mark.parametrize(
    ("newer", "is_begun"),
    [
        (replace(FAILED), False),
        (replace(FAILED, id="9", at=4.0), False),
        (replace(FAILED, id="11", at=5.0), True),  # in the same second
        (replace(FAILED, id="11", at=0.0, state=CheckState.QUEUED), True),
        (replace(FAILED, at=0.0, state=CheckState.RUNNING), True),  # the very same run, begun once more
        (replace(FAILED, at=9.0, state=CheckState.PASSED), True),
        (replace(FAILED, id="11", name="lint"), False),
        (replace(FAILED, id="11", commit=NEXT), False),
    ],
)
def test_a_newer_run_shows_that_it_was_asked_for(newer: CheckRun, is_begun: bool) -> None:
    assert begun_again((FAILED,), (FAILED, newer)) == (("build",) if is_begun else ())


def test_a_rerun_is_on_record_before_and_after() -> None:
    lint = replace(FAILED, name="lint", id="12")
    begun = Delivered().begin_rerun((FAILED, lint), ("build",))
    assert begun.flaky == ("build",)
    assert not begun.tried(HEAD).reruns

    half = begun.end_rerun(HEAD, ("build",))

    assert half.rerunning == (lint,)
    assert half.tried(HEAD).reruns == {"build"}
    assert not half.tried(NEXT).reruns, "a new commit has its own"
    assert half.end_rerun(HEAD, ("lint",)).tried(HEAD).reruns == {"build", "lint"}
    assert half.end_rerun(NEXT, ("lint",)).tried(NEXT).reruns == {"lint"}


def test_a_session_that_changed_something_owes_an_answer_with_its_commit() -> None:
    handed = Delivered(run_id="r1", updates=3).hand_over("fix it", (REMARK,), HEAD)
    assert handed.handed_by == "r1"

    fixed = handed.fix(NEXT)

    assert fixed.answering == (Answer(REMARK, NEXT),)
    assert (fixed.fixes, fixed.updates, fixed.futile, fixed.handed, fixed.told) == (1, 0, "", "", "")
    assert REMARK.id in fixed.tried(NEXT).answered, "it is not worked on again"
    assert fixed.answer(REMARK).answering == ()
    assert fixed.answer(REMARK).answered == (REMARK.id,)


def test_a_session_that_changed_nothing_says_so() -> None:
    futile = Delivered(updates=3).hand_over("fix it", (REMARK,), HEAD).fix(HEAD)

    assert futile.answering == (Answer(REMARK, ""),)
    assert (futile.fixes, futile.updates, futile.futile) == (0, 3, HEAD)
    assert futile.tried(HEAD).is_futile
    assert not futile.tried(NEXT).is_futile


def test_a_session_that_is_handed_over_again_began_where_it_began() -> None:
    first = Delivered().hand_over("fix it", (), HEAD)

    assert first.hand_over("fix it, please", (), NEXT).handed == HEAD
    assert not first.hand_over("a role's own", (), "").handed


def test_another_pull_request_forgets_the_first_but_not_what_is_unjudged() -> None:
    known = Delivered(run_id="r1", number=7, pushed=HEAD, earlier=(NEXT,), answered=("x",), proven=HEAD)

    assert known.forget_pull() == Delivered(run_id="r1", proven=HEAD)
    unjudged = known.hand_over("fix it", (REMARK,), HEAD).forget_pull()
    assert (unjudged.handed, unjudged.handed_by, unjudged.told) == (HEAD, "r1", "fix it")


def test_what_was_pushed_before_is_known_but_not_for_ever() -> None:
    delivered = Delivered()
    for number in range(MOST_EARLIER + 10):
        delivered = delivered.begin_push(f"{number}").end_push(f"{number}")

    assert not delivered.pushing
    assert len(delivered.earlier) == MOST_EARLIER
    assert delivered.earlier[-1] == f"{MOST_EARLIER + 8}"


def test_nothing_to_change_for_a_red_check() -> None:
    facts = Facts(pull=PULL, ours=HEAD, checks=(FAILED,))
    assert isinstance(deliver(facts), Fix)

    again = deliver(replace(facts, tried=Tried(is_futile=True)))
    assert isinstance(again, Rerun)
    assert [check.name for check in again.checks] == ["build"]

    tried = Tried(is_futile=True, reruns=frozenset({"build"}))
    twice = deliver(replace(facts, checks=(FAILED, replace(FAILED, id="11")), tried=tried))
    assert isinstance(twice, Ask)
    passed = replace(FAILED, id="11", at=9.0, state=CheckState.PASSED)
    assert isinstance(deliver(replace(facts, checks=(FAILED, passed), tried=tried)), Done)


def test_what_the_base_may_have_repaired_is_seen_before_a_session_is_paid() -> None:
    facts = Facts(pull=PULL, ours=HEAD, checks=(FAILED,), has_moved=True)
    known = Tried(on_base=frozenset({"build"}))

    assert isinstance(deliver(facts), Fix), "nobody has seen it fail there"
    assert isinstance(deliver(replace(facts, tried=known)), Update)
    assert isinstance(deliver(replace(facts, tried=replace(known, updates=1))), Fix), (
        "it was not repaired by that"
    )
    assert isinstance(deliver(replace(facts, tried=known, has_moved=False)), Fix)


def test_a_flaky_check_belongs_into_the_receipt() -> None:
    announced = Delivered(is_announced=True)

    assert announced.begin_rerun((FAILED,), ()).is_announced
    flaky = announced.begin_rerun((FAILED,), ("build",))
    assert not flaky.is_announced
    assert replace(flaky, is_announced=True).begin_rerun((FAILED,), ("build",)).is_announced


def test_an_answer_is_the_same_whenever_it_is_written() -> None:
    assert answer_text(REMARK, HEAD) == answer_text(REMARK, HEAD)
    assert f"addressed this in {HEAD};" in answer_text(REMARK, HEAD)
    assert "Addressed" not in answer_text(REMARK, "")
    assert is_own(answer_text(REMARK, ""))
