"""Numbers for people: 1.2M, $5.76, 6m7s."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.domain.agent.events import Usage


def compact(number: int) -> str:
    """999, 1.2K, 45K, 850K, 1.2M."""
    if number < 1000:
        return str(number)
    value = float(min(number, 10**18))  # agents report these: any number is possible
    for unit in "KMGT":
        value /= 1000
        # 99.95 and 999.5 would round up to a longer number.
        if value < 99.95:
            return f"{value:.1f}".removesuffix(".0") + unit
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return f"{value:.0f}T"


def money(cost_usd: float, *, at_least: bool = False) -> str:
    """``at_least``: more was used that has no known price."""
    amount = f"${cost_usd:.4f}" if 0 < cost_usd < 0.01 else f"${cost_usd:.2f}"
    return f"at least {amount}" if at_least else amount


def duration(seconds: float) -> str:
    """0.4s, 12.3s, 6m7s, 1h2m3s."""
    return f"{max(0.0, seconds):.1f}s" if seconds < 59.95 else whole_duration(seconds + 0.5)


def whole_duration(seconds: float) -> str:
    """14s, 3m12s, 1h2m3s: for a line that is redrawn every second."""
    if not seconds < 1e12:  # also infinity, and NaN
        return "?"
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def age(seconds: float, *, ago: bool = True) -> str:
    """14s ago, 3m ago, 5h ago, 2d ago; never in the future, whatever the clock says."""
    left = max(0, int(seconds)) if seconds < 1e12 else 0
    units = (("d", 86_400), ("h", 3600), ("m", 60))
    unit, size = next(((unit, size) for unit, size in units if left >= size), ("s", 1))
    return f"{left // size}{unit}{' ago' if ago else ''}"


def tokens(usage: Usage) -> str:
    """``1.2M in (850K cached) / 45K out``; "in" counts everything sent, cached or not."""
    sent = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    cached = f" ({compact(usage.cache_read_tokens)} cached)" if usage.cache_read_tokens else ""
    return f"{compact(sent)} in{cached} / {compact(usage.output_tokens)} out"


def totals(
    *,
    cost_usd: float | None = None,
    at_least: bool = False,
    usage: Usage | None = None,
    tools: int | None = None,
    errors: int | None = None,
    seconds: float | None = None,
) -> str:
    """The figures of the closing line; those not reported are left out, not shown as zero."""
    parts = {
        "cost": money(cost_usd, at_least=at_least) if cost_usd is not None else None,
        "tokens": tokens(usage) if usage is not None and usage.total else None,
        "tools": tools,
        "errors": errors,
        "time": duration(seconds) if seconds is not None else None,
    }
    return ", ".join(f"{name}: {figure}" for name, figure in parts.items() if figure is not None)
