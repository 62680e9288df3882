"""Whose commits may be pushed over: a table."""

from __future__ import annotations

import pytest

from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.push import Push, RemoteBranch, judge_push

NEW, OURS, OLD, OTHER = "n" * 40, "o" * 40, "e" * 40, "t" * 40


@pytest.mark.parametrize(
    ("known", "tip", "is_contained", "is_earlier", "found"),
    [
        (Delivered(), "", False, False, Push.ALLOWED),
        (Delivered(pushed=OURS), "", False, False, Push.DELETED),
        (Delivered(), NEW, True, False, Push.THERE),
        (Delivered(pushed=OURS), NEW, True, False, Push.THERE),
        (Delivered(pushed=OURS), OURS, True, True, Push.ALLOWED),
        (Delivered(pushed=OURS), OURS, False, True, Push.ALLOWED),  # amended: ours to replace
        (Delivered(pushed=OURS, given=OURS), OURS, True, True, Push.ALLOWED),
        (Delivered(pushed=OURS, given=OURS), OURS, False, True, Push.THEIRS),  # it was never ours
        (Delivered(pushed=OURS, pushing=OTHER), OTHER, False, False, Push.ALLOWED),  # killed in a push
        (Delivered(pushed=OURS), OLD, True, True, Push.RESET),
        (Delivered(pushed=OURS), OLD, False, True, Push.RESET),
        (Delivered(pushed=OURS), OTHER, True, False, Push.ALLOWED),  # pulled here meanwhile
        (Delivered(pushed=OURS), OTHER, False, False, Push.THEIRS),
        (Delivered(), OTHER, True, False, Push.ALLOWED),
        (Delivered(), OTHER, False, False, Push.THEIRS),
    ],
)
def test_only_over_our_own_or_where_nothing_is_lost(
    known: Delivered, tip: str, is_contained: bool, is_earlier: bool, found: Push
) -> None:
    remote = RemoteBranch(tip=tip, is_contained=is_contained, is_earlier=is_earlier)

    assert judge_push(known, NEW, remote) is found
