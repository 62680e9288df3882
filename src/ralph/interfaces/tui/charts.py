"""Small pictures made of characters."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def sparkline(values: Sequence[float], width: int) -> str:
    """The newest values, each as high as it is beside the greatest of them."""
    shown = [value if 0 <= value < 1e15 else 0.0 for value in values[-max(width, 0) :]]
    greatest = max(shown, default=0.0)
    if greatest <= 0:
        return _STEPS[0] * len(shown)
    return "".join(_STEPS[round(value / greatest * (len(_STEPS) - 1))] for value in shown)


def bar(share: float, width: int) -> tuple[str, str]:
    """The filled and the empty part of a gauge, ``width`` cells together."""
    if not share > 0:  # also what is not a number
        return "", "─" * width
    eighths = round(min(share, 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    filled = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return filled, "─" * (width - len(filled))
