"""The share of a subscription that the user keeps for other work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralph.domain.agent.quota import WINDOWS, Window, current, percent
from ralph.domain.loop.session_report import RateLimited


def shortage(
    agent: str, windows: Sequence[Window], keep_free: Mapping[str, float], now: float
) -> RateLimited | None:
    """The same as a limit that was reached, if less is left than the user wants to keep free."""
    short = [window for window in current(windows, now) if window.left < keep_free.get(window.name, 0.0)]
    if not short:
        return None
    left = " and ".join(f"{percent(window.left)} of {WINDOWS[window.name]}" for window in short)
    wanted = " and ".join(percent(keep_free[window.name]) for window in short)
    return RateLimited(
        f"{agent} has {left} left, and {wanted} must stay free", max(window.resets_at for window in short)
    )


def wanted_words(keep_free: Mapping[str, float]) -> str:
    """``15 % of 5 hours and 25 % of the week``; empty: nothing is to be kept free."""
    return " and ".join(
        f"{percent(keep_free[name])} of {words}" for name, words in WINDOWS.items() if keep_free.get(name)
    )
