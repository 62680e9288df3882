"""Money for tokens: known, overridden, or honestly unknown."""

from __future__ import annotations

import pytest

from ralph.domain.agent.events import Usage
from ralph.domain.agent.prices import LIST_PRICES, Price, cost_of, price_of, with_own

A_MILLION_EACH = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)


def test_each_kind_of_token_has_its_own_price() -> None:
    assert Price(1, 10, 0.1, 2).of(A_MILLION_EACH) == pytest.approx(13.1)


def test_the_cache_costs_as_much_as_input_where_nothing_else_is_said() -> None:
    assert Price(1, 10).of(A_MILLION_EACH) == pytest.approx(13)


def test_our_price_of_a_session_is_what_claude_itself_reported() -> None:
    # from a recorded session: 2 requests, total_cost_usd 0.01032
    cost = cost_of(Usage(2000, 100, 1600), "claude-opus-5-5")

    assert cost == pytest.approx(0.01032)


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("gpt-5.5", "gpt-5.5"),
        ("GPT-5.5", "gpt-5.5"),
        ("openai/gpt-5.5", "gpt-5.5"),
        ("gpt-5.5-2026-04-23", "gpt-5.5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("google/gemini-2.5-pro", "gemini-2.5-pro"),
    ],
)
def test_a_model_is_known_by_its_plain_name(name: str, known_as: str) -> None:
    assert price_of(name) == LIST_PRICES[known_as]


@pytest.mark.parametrize(
    "name", ["", "lab-model", "gpt-5.5-pro", "gpt-99", "claude-opus-9", "gemini-2.5", "qwen3-coder-plus"]
)
def test_the_price_of_an_unknown_model_is_unknown_and_not_zero(name: str) -> None:
    assert cost_of(A_MILLION_EACH, name) is None


def test_the_users_own_prices_come_first() -> None:
    own = with_own({"gpt-5.5": Price(0, 0), "lab*": Price(1, 1), "gpt-5.4*": Price(7, 7)})

    assert cost_of(A_MILLION_EACH, "gpt-5.5", own) == 0
    assert price_of("lab-model", own) == Price(1, 1)
    assert price_of("gpt-5.4-mini", own) == Price(7, 7)
    assert price_of("gpt-5.6-sol", own) == LIST_PRICES["gpt-5.6-sol"]


def test_a_pattern_for_everything_prices_a_model_that_nobody_named() -> None:
    assert price_of("", with_own({"*": Price(1, 2)})) == Price(1, 2)
