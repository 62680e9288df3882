"""How often trackers are asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tickets.pace import AWAY, until_next_look, until_next_try


@pytest.mark.parametrize(
    ("failures", "after", "seconds"),
    [
        (0, None, 60.0),
        (0, 500.0, 60.0),
        (1, None, 5.0),
        (2, None, 10.0),
        (3, 7.0, 20.0),
        (1, 500.0, 500.0),
        (100, None, AWAY.longest),
    ],
)
def test_ever_more_rarely_while_it_is_away(failures: int, after: float | None, seconds: float) -> None:
    assert until_next_look(60.0, failures, after=after) == seconds


@given(st.floats(5.0, 1e6), st.text(max_size=40))
def test_a_ticket_is_asked_for_again_between_one_and_two_looks_later(poll: float, holder: str) -> None:
    assert poll <= until_next_try(poll, holder) <= 2 * poll
    assert until_next_try(poll, holder) == until_next_try(poll, holder)


def test_machines_come_back_at_different_times() -> None:
    waits = {until_next_try(60.0, f"box-{number:04x}") for number in range(100)}
    assert len(waits) > 80
