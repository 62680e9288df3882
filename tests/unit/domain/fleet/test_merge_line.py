from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.fleet.merge_line import MergeLine


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd"))))
def test_in_the_order_of_asking_and_the_holder_stays_until_it_leaves(moves: list[tuple[bool, str]]) -> None:
    line, expected = MergeLine(), []
    for asks, job in moves:
        before = line
        line = line.asked(job) if asks else line.without([job])
        if asks and job not in expected:
            expected.append(job)
        if not asks and job in expected:
            expected.remove(job)
        assert list(line.jobs) == expected
        if before.holder and (asks or job != before.holder):
            assert line.holder == before.holder


def test_nobody_has_the_turn_of_an_empty_line() -> None:
    assert MergeLine().holder == ""
