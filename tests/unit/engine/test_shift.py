"""A short shift: so many sessions, no long wait, no merge out of turn."""

from __future__ import annotations

import pytest

from ralph.domain.loop.handover import Handover, Want
from ralph.engine.shift import ENDLESS, ShiftOver
from ralph.engine.short_shift import ShortShift


def shift(*, sessions: int = 1, may_merge: bool = False) -> ShortShift:
    return ShortShift(sessions=sessions, longest_wait=2.0, may_merge=may_merge)


def test_sessions_are_counted() -> None:
    short = shift(sessions=2)
    short.begin_session()
    short.begin_session()
    with pytest.raises(ShiftOver) as over:
        short.begin_session()
    assert over.value.handover == Handover(Want.SESSION)


@pytest.mark.parametrize(("seconds", "is_handed_over"), [(0.0, False), (2.0, False), (2.1, True)])
def test_a_long_wait_is_for_the_next_shift(seconds: float, is_handed_over: bool) -> None:
    if not is_handed_over:
        shift().begin_wait(seconds, "a limit")
        return
    with pytest.raises(ShiftOver) as over:
        shift().begin_wait(seconds, "a limit")
    assert over.value.handover == Handover(Want.WAIT, seconds, "a limit")


def test_a_merge_needs_its_turn() -> None:
    shift(may_merge=True).begin_merge()
    with pytest.raises(ShiftOver) as over:
        shift().begin_merge()
    assert over.value.handover.want is Want.MERGE


def test_a_shift_that_merges_has_no_session() -> None:
    with pytest.raises(ShiftOver) as over:
        shift(sessions=5, may_merge=True).begin_session()
    assert over.value.handover == Handover(Want.SESSION)


def test_what_was_merged_is_known() -> None:
    short = shift(may_merge=True)
    assert short.merged == ""
    short.note_merge("c" * 40)
    assert short.merged == "c" * 40


def test_most_shifts_do_not_end() -> None:
    for _ in range(3):
        ENDLESS.begin_session()
    ENDLESS.begin_wait(1e9, "")
    ENDLESS.begin_merge()
    ENDLESS.note_merge("c" * 40)
