"""What is left of a subscription, as the agent itself says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ralph.values import dataclass

WINDOWS: Final[Mapping[str, str]] = {"5h": "5 hours", "week": "the week"}
"""The windows in which subscriptions are counted, and how to say them."""

LONGEST: Final = 8 * 86_400.0
"""Seconds: a reset farther away than any known window is not believed."""


@dataclass(frozen=True, slots=True)
class Window:
    """``left``: percent that is not used yet; all of it again at ``resets_at`` (seconds since the epoch)."""

    name: str
    left: float
    resets_at: float


@dataclass(frozen=True, slots=True)
class AgentQuota:
    """The windows of an agent's subscription as it last told them."""

    agent: str
    windows: tuple[Window, ...]


def newer(known: Iterable[Window], told: Iterable[Window]) -> tuple[Window, ...]:
    """What is known after an agent told this: it may not speak of every window each time."""
    by_name = {window.name: window for window in (*known, *told)}
    return tuple(by_name[name] for name in WINDOWS if name in by_name)


def current(windows: Iterable[Window], now: float) -> tuple[Window, ...]:
    """Those that still say something: a window that has been reset is full again, nobody knows how full."""
    return tuple(window for window in windows if now < window.resets_at <= now + LONGEST)


def percent(share: float) -> str:
    return f"{share:.0f} %" if share == round(share) else f"{share:.1f} %"
