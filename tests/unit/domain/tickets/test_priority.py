"""How urgent a ticket is, from its labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tickets.priority import priority_of


@pytest.mark.parametrize(
    ("labels", "priority"),
    [
        ([], 5),
        (["bug", "good first issue"], 5),
        (["urgent"], 1),
        (["Critical"], 1),
        (["P0"], 1),
        (["high"], 3),
        (["p1"], 3),
        (["priority: high"], 3),
        (["priority/high"], 3),
        (["High priority"], 3),
        (["prio-high"], 3),
        (["medium"], 5),
        (["P2"], 5),
        (["low"], 7),
        (["P3"], 7),
        (["low", "high"], 3),
        (["highlight"], 5),
        (["not urgent"], 5),
        (["p12"], 5),
    ],
)
def test_the_most_urgent_label_counts(labels: list[str], priority: int) -> None:
    assert priority_of(labels) == priority


@given(st.lists(st.text()))
def test_any_label_is_understood_or_ignored(labels: list[str]) -> None:
    assert priority_of(labels) in (1, 3, 5, 7)


def test_a_very_long_label_costs_nothing() -> None:
    assert priority_of(["priority" + " " * 1_000_000 + "high"]) == 5
