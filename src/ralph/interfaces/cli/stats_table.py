"""The figures of ``ralph stats`` as aligned columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph.domain.tasks.statistics import StageFigures, Suggestion, spark
from ralph.domain.text.figures import compact, money, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.console.terminal import display_width, fit

GAP = "  "
BOLD, OFF = "\x1b[1m", "\x1b[0m"
_HEAD = (
    "role",
    "verified by",
    "stages",
    "accepted",
    "iterations",
    "first pass",
    "time",
    "cost",
    "tokens",
    "plot",
)
_GIVE_WAY = (8, 3, 7, 1)
"""Columns that are left out first where there is too little room."""


def stage_lines(
    rows: Sequence[StageFigures], *, width: int | None = None, colored: bool = False
) -> Iterator[str]:
    """``width`` None is a pipe: nothing is left out."""
    table = [_HEAD, *map(_cells, rows)]
    shown = list(range(len(_HEAD)))
    widths = [max(display_width(row[index]) for row in table) for index in shown]
    for index in _GIVE_WAY:
        if width is None or sum(widths[one] + len(GAP) for one in shown) <= width:
            break
        shown.remove(index)
    for place, row in enumerate(table):
        line = GAP.join(row[index] + " " * (widths[index] - display_width(row[index])) for index in shown)
        line = line.rstrip() if width is None else fit(line.rstrip(), width - 1)
        yield f"{BOLD}{line}{OFF}" if colored and place == 0 else line


def limit_lines(limits: Sequence[Suggestion]) -> Iterator[str]:
    yield "limits of iterations"
    for limit in limits:
        advice = (
            f"keep {limit.present}" if limit.limit == limit.present else f"{limit.present} → {limit.limit}"
        )
        yield f"  {clean_line(limit.role)}: {advice} ({limit.reason})"


def _cells(row: StageFigures) -> tuple[str, ...]:
    return (
        clean_line(row.role),
        clean_line(row.method),
        str(row.stages),
        str(row.accepted),
        f"{row.iterations:.1f}",
        f"{row.first_pass:.0%}",
        whole_duration(row.seconds),
        money(row.cost_usd) if row.cost_usd is not None else "-",
        compact(round(row.tokens)),
        spark(row.counts),
    )
