"""The figures of ``ralph stats`` as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from ralph.domain.tasks.statistics import StageFigures, Suggestion, spark
from ralph.domain.text.figures import compact, money, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.table import Column, table_lines

_COLUMNS = (
    Column("role"),
    Column("verified by", 1),
    Column("stages"),
    Column("accepted", 3),
    Column("iterations"),
    Column("first pass"),
    Column("time"),
    Column("cost", 2),
    Column("tokens", 4),
    Column("plot"),
)


def stage_lines(rows: Sequence[StageFigures], stream: TextIO) -> list[str]:
    return table_lines(_COLUMNS, [_row(row) for row in rows], stream)


def limit_lines(limits: Sequence[Suggestion]) -> Iterator[str]:
    yield "limits of iterations"
    for limit in limits:
        advice = (
            f"keep {limit.present}" if limit.limit == limit.present else f"{limit.present} → {limit.limit}"
        )
        yield f"  {clean_line(limit.role)}: {advice} ({limit.reason})"


def _row(row: StageFigures) -> tuple[str, ...]:
    return (
        row.role,
        row.method,
        str(row.stages),
        str(row.accepted),
        f"{row.iterations:.1f}",
        f"{row.first_pass:.0%}",
        whole_duration(row.seconds),
        money(row.cost_usd) if row.cost_usd is not None else "",
        compact(round(row.tokens)),
        spark(row.counts),
    )
