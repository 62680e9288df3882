"""Rows as a table, and one sentence about the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.row import Bar, Row, Sense

HEADINGS = ("", "measured", "baseline", "compared", "bar", "")
_SIGNS = {Sense.AT_MOST: "<=", Sense.AT_LEAST: ">="}
_WORDS = {True: "ok", False: "MISSED", None: ""}


def render(sections: Mapping[str, Sequence[Row]]) -> str:
    """Each section under its title; numbers aligned right, names left."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    for title, rows in sections.items():
        lines.append((title, "", "", "", "", ""))
        lines += [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 5) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_markdown(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]


def summary(sections: Mapping[str, Sequence[Row]]) -> str:
    barred = [row for rows in sections.values() for row in rows if row.bar is not None]
    missed = [row.name for row in barred if not row.ok]
    met = f"{len(barred) - len(missed)} of {len(barred)} bars met"
    return f"{met}; missed: {', '.join(missed)}" if missed else met


def as_data(sections: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    return [
        {
            "section": title,
            "name": row.name,
            "measured": row.measured,
            "unit": row.unit,
            "baseline": row.baseline,
            "compared": row.compared,
            "comparedUnit": row.compared_unit,
            "bar": None if row.bar is None else {"sense": row.bar.sense, "value": row.bar.value},
            "ok": row.ok,
        }
        for title, rows in sections.items()
        for row in rows
    ]


def _cells(row: Row) -> tuple[str, ...]:
    baseline = "" if row.baseline is None else amount(row.baseline, row.unit)
    compared = amount(row.compared, row.compared_unit)
    return (
        f"  {row.name}",
        amount(row.measured, row.unit),
        baseline,
        compared if row.compared_unit == "x" or row.compared < 0 else f"+{compared}",
        bar_words(row.bar, row.compared_unit),
        _WORDS[row.ok],
    )


def bar_words(bar: Bar | None, unit: str) -> str:
    return "" if bar is None else f"{_SIGNS[bar.sense]} {bar.value:g}{_joint(unit)}"


def amount(value: float, unit: str) -> str:
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}{_joint(unit)}"


def _joint(unit: str) -> str:
    return unit if unit == "x" else f" {unit}"
