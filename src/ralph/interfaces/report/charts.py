"""Bars as inline SVG: no script, no font, no outside asset; the figures are in the titles for anyone who cannot see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

HEIGHT = 120
WIDTH = 440
LEFT = 56
MOST_BARS = 120
WIDEST_STEP = 32.0


@dataclass(frozen=True, slots=True)
class Bar:
    """``value`` None: nobody knows. ``kind`` names its colour."""

    label: str
    value: float | None
    kind: str = ""


def bars(title: str, values: Sequence[Bar], show: Callable[[float], str]) -> str:
    """Empty if there is nothing to draw."""
    shown = values[-MOST_BARS:]
    top = max((bar.value or 0.0 for bar in shown), default=0.0)
    if top <= 0:
        return ""
    step = min(WIDEST_STEP, (WIDTH - LEFT) / len(shown))
    drawn = [_bar(bar, index, step, top, show) for index, bar in enumerate(shown)]
    ends = (
        f"{escape(shown[0].label)} … {escape(shown[-1].label)}" if len(shown) > 1 else escape(shown[0].label)
    )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 22}" role="img" aria-label="{escape(title)}">'
        f'<line class="axis" x1="{LEFT}" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>'
        f'<line class="grid" x1="{LEFT}" y1="8" x2="{WIDTH}" y2="8"/>'
        f'<text x="{LEFT - 6}" y="12" text-anchor="end">{escape(show(top))}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT}" text-anchor="end">{escape(show(0.0))}</text>'
        f'<text x="{LEFT}" y="{HEIGHT + 16}">{ends}</text>'
        f"{''.join(drawn)}</svg></figure>"
    )


def _bar(bar: Bar, index: int, step: float, top: float, show: Callable[[float], str]) -> str:
    value = bar.value or 0.0
    height = max(1.0, (HEIGHT - 8) * value / top)
    gap = step / 5
    told = show(value) if bar.value is not None else "unknown"
    return (
        f'<rect class="bar {bar.kind}" x="{LEFT + index * step + gap / 2:.1f}" y="{HEIGHT - height:.1f}"'
        f' width="{step - gap:.1f}" height="{height:.1f}"><title>{escape(bar.label)}: {escape(told)}</title></rect>'
    )
