"""How long nothing may change before nobody waits for it any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.delivery.patience import Patience


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([(0.0, "a")], 10.0),
        ([(0.0, None)], 10.0),
        ([(0.0, "a"), (4.0, "a")], 6.0),
        ([(0.0, "a"), (4.0, "b")], 10.0),
        ([(0.0, "a"), (4.0, "b"), (5.0, "a")], 10.0),
        ([(0.0, "a"), (4.0, None), (6.0, "a")], 4.0),
        ([(0.0, "a"), (4.0, None), (6.0, "b")], 10.0),
        ([(0.0, None), (4.0, None)], 6.0),
        ([(0.0, None), (4.0, "a")], 10.0),
        ([(0.0, "a"), (11.0, "a")], -1.0),
    ],
)
def test_it_is_counted_from_the_last_change_of_what_was_seen(
    looks: list[tuple[float, str | None]], expected: float
) -> None:
    patience = Patience(10.0)
    assert [patience.left(now, seen) for now, seen in looks][-1] == expected


@given(st.lists(st.sampled_from(["same", None]), min_size=1, max_size=30))
def test_a_forge_that_is_away_now_and_then_does_not_lengthen_it(looks: list[str | None]) -> None:
    patience = Patience(10.0)
    patience.left(0.0, "same")
    left = [patience.left(float(at), seen) for at, seen in enumerate(looks, 1)]
    assert left == [10.0 - at for at in range(1, len(looks) + 1)]
