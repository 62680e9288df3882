"""What tokens cost, for agents that report only tokens."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from ralph.domain.agent.events import Usage
from ralph.patterns import pattern
from ralph.values import dataclass

MILLION: Final = 1_000_000

_PROVIDER = pattern(r"^.*/")
_DATE = pattern(r"-\d{4}-?\d{2}-?\d{2}$")
_WINDOW = pattern(r"\[[^]]*\]$")  # claude-opus-5[1m]


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Cached tokens cost the plain input price unless another is given."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        ) / MILLION


Prices = Mapping[str, Price]
"""Model name or pattern (``gpt-5*``) → price. The first match counts."""

# The vendors' public list prices, standard tier, read on 2026-11-15. A request with more than about 272,000 input
# tokens costs more than this with OpenAI, and a subscription costs nothing per token: these are estimates.
LIST_PRICES: Final[Prices] = {
    "gpt-6.1-sol": Price(2.00, 10.00, 0.10),
    "gpt-6.1-terra": Price(1.00, 5.00, 0.05, 1.25),
    "gpt-6-sol": Price(2.00, 10.00, 0.20, 2.50),
    "gpt-6-luna": Price(0.10, 0.50, 0.01, 0.125),
    "gpt-5.6": Price(5.00, 30.00, 0.50, 6.25),  # another name for sol
    "gpt-5.6-sol": Price(5.00, 30.00, 0.50, 6.25),
    "gpt-5.6-terra": Price(2.00, 12.00, 0.20, 2.50),
    "gpt-5.6-luna": Price(0.20, 1.20, 0.02, 0.25),
    "gpt-5.5": Price(5.00, 30.00, 0.50),
    "gpt-5.4": Price(2.50, 15.00, 0.25),
    "gpt-5.4-mini": Price(0.75, 4.50, 0.075),
    "gpt-5.3-codex": Price(1.75, 14.00, 0.175),
    "gpt-5.2": Price(1.75, 14.00, 0.175),
    "claude-fable-5-1": Price(10.00, 50.00, 0.25, 12.50),
    "claude-opus-5-5": Price(4.00, 20.00, 0.20, 5.00),
    "claude-opus-5": Price(5.00, 25.00, 0.50, 6.25),
    "claude-opus-4-[5-8]": Price(5.00, 25.00, 0.50, 6.25),
    "claude-sonnet-5*": Price(2.00, 10.00, 0.20, 2.50),
    "claude-sonnet-4*": Price(3.00, 15.00, 0.30, 3.75),
    "claude-haiku-4-5": Price(1.00, 5.00, 0.10, 1.25),
    # Google's, for requests of up to 200,000 tokens.
    "gemini-3.1-pro-preview": Price(2.00, 12.00, 0.20),
    "gemini-3-pro": Price(2.00, 12.00, 0.20),
    "gemini-3-pro-preview": Price(2.00, 12.00, 0.20),
    "gemini-3-flash": Price(0.50, 3.00, 0.05),
    "gemini-3-flash-preview": Price(0.50, 3.00, 0.05),
    "gemini-2.5-pro": Price(1.25, 10.00, 0.125),
    "gemini-2.5-flash": Price(0.30, 2.50, 0.03),
    "gemini-2.5-flash-lite": Price(0.10, 0.40, 0.01),
}


def cost_of(usage: Usage, model: str, prices: Prices = LIST_PRICES) -> float | None:
    """None if the price is unknown, which is not zero."""
    price = price_of(model, prices)
    return None if price is None else price.of(usage)


def price_of(model: str, prices: Prices = LIST_PRICES) -> Price | None:
    """By the name as given, or without provider, date and context window."""
    given = model.lower()
    plain = _DATE.sub("", _WINDOW.sub("", _PROVIDER.sub("", given)))
    for named, price in prices.items():
        if fnmatchcase(given, named.lower()) or fnmatchcase(plain, named.lower()):
            return price
    return None


def with_own(own: Prices) -> Prices:
    """The user's own prices, then the list prices."""
    return {**own, **{name: price for name, price in LIST_PRICES.items() if name not in own}}
