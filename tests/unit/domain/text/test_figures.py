from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.events import Usage
from ralph.domain.text.figures import age, compact, duration, money, plural, totals, whole_duration


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1K"),
        (1234, "1.2K"),
        (45_000, "45K"),
        (45_300, "45.3K"),
        (99_949, "99.9K"),
        (99_950, "100K"),
        (850_000, "850K"),
        (999_499, "999K"),
        (999_500, "1M"),
        (1_200_000, "1.2M"),
        (3_400_000_000, "3.4G"),
        (10**30, "1000000T"),
    ],
)
def test_numbers_are_compact(number: int, text: str) -> None:
    assert compact(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0s"),
        (0.4, "0.4s"),
        (12.34, "12.3s"),
        (59.94, "59.9s"),
        (59.95, "1m0s"),
        (367, "6m7s"),
        (3599.6, "1h0m0s"),
        (3723, "1h2m3s"),
        (90_000, "25h0m0s"),
        (-5, "0.0s"),
        (math.inf, "?"),
        (math.nan, "?"),
    ],
)
def test_durations_read_like_a_stopwatch(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(14.9, "14s"), (192, "3m12s"), (3723, "1h2m3s"), (-1, "0s")])
def test_whole_durations_have_no_fraction(seconds: float, text: str) -> None:
    assert whole_duration(seconds) == text


@pytest.mark.parametrize(
    ("cost", "text"), [(5.761, "$5.76"), (0.0, "$0.00"), (0.0042, "$0.0042"), (12, "$12.00")]
)
def test_small_costs_are_not_rounded_to_nothing(cost: float, text: str) -> None:
    assert money(cost) == text


def test_one_thing_is_singular() -> None:
    assert (plural(1, "line"), plural(0, "line"), plural(2, "line")) == ("1 line", "0 lines", "2 lines")


def test_totals_have_their_documented_form() -> None:
    usage = Usage(340_000, 45_000, 850_000, 10_000)
    text = totals(cost_usd=5.76, usage=usage, tools=58, errors=4, seconds=367)
    assert text == "cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s"


def test_totals_leave_out_what_nobody_reported() -> None:
    assert totals(usage=Usage(), tools=0) == "tools: 0"
    assert totals(usage=Usage(input_tokens=10, output_tokens=2)) == "tokens: 10 in / 2 out"
    assert totals() == ""


@given(st.floats(), st.floats(), st.integers(min_value=-(10**400), max_value=10**400))
def test_figures_take_any_number(seconds: float, cost: float, tokens: int) -> None:
    assert duration(seconds)
    assert whole_duration(seconds)
    assert totals(cost_usd=cost, usage=Usage(input_tokens=tokens), seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0s ago"),
        (14, "14s ago"),
        (61, "1m ago"),
        (7_300, "2h ago"),
        (200_000, "2d ago"),
        (-5, "0s ago"),
        (float("nan"), "0s ago"),
        (float("inf"), "0s ago"),
    ],
)
def test_ages_are_short(seconds: float, said: str) -> None:
    assert age(seconds) == said
