"""``ralph work --dry-run``: what the tasks will probably cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

from ralph.domain.tasks.estimate import Range, TaskEstimate, WorkEstimate
from ralph.domain.text.figures import money, plural, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.options import print_json
from ralph.interfaces.cli.table import Column, table_lines

UNKNOWN = "unknown"
NO_LIMIT = "no limit"

_COLUMNS = (
    Column("task"),
    Column("title", 4),
    Column("roles left", 5, longest=40),
    Column("like it", 6),
    Column("sessions", 3),
    Column("time", 2),
    Column("cost"),
    Column("at most"),
)


def print_estimate(estimate: WorkEstimate, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(estimate))
        return
    print("\n".join(_lines(estimate)))


def _lines(estimate: WorkEstimate) -> Iterator[str]:
    if not estimate.tasks:
        yield "no task is ready, and none will be: `ralph task list` shows why"
    else:
        rows = [*map(_row, estimate.tasks), _total(estimate)]
        yield from table_lines(_COLUMNS, rows, sys.stdout)
        yield ""
        yield "Two figures: half of the tasks with the same roles and verification needed at most the first, nine of"
        yield 'ten at most the second. "at most" is what the limits allow; --max-cost and --max-iterations set one.'
    if estimate.unknown:
        names = clean_line(", ".join(estimate.unknown))
        yield f"Not in the total, for nothing like it has been finished at a known cost: {names}"
    if estimate.left_out:
        yield f"Not begun, for a task that they wait for failed or was cancelled: {clean_line(', '.join(estimate.left_out))}"


def _row(one: TaskEstimate) -> tuple[str, ...]:
    return (
        one.task,
        one.title,
        ", ".join(role for role, _ in one.stages),
        str(one.like),
        *_figures(one.iterations, one.seconds, one.cost_usd),
        _bound(one.most_iterations, one.most_cost_usd),
    )


def _total(estimate: WorkEstimate) -> tuple[str, ...]:
    tasks = estimate.tasks
    known = (
        all(one.iterations is not None for one in tasks),
        all(one.seconds is not None for one in tasks),
        not estimate.unknown,
    )
    words = _figures(estimate.iterations, estimate.seconds, estimate.cost_usd)
    figures = [
        told if is_known or told == UNKNOWN else f"at least {told}"
        for told, is_known in zip(words, known, strict=True)
    ]
    number = plural(len(estimate.tasks), "task")
    return ("in all", number, "", "", *figures, _bound(estimate.most_iterations, estimate.most_cost_usd))


def _figures(iterations: Range | None, seconds: Range | None, cost: Range | None) -> tuple[str, str, str]:
    return (
        _pair(iterations, lambda number: str(round(number))),
        _pair(seconds, whole_duration),
        _pair(cost, money),
    )


def _pair(found: Range | None, words: Callable[[float], str]) -> str:
    if found is None:
        return UNKNOWN
    low, high = words(found.p50), words(found.p90)
    return low if low == high else f"{low} to {high}"


def _bound(iterations: int, cost: float | None) -> str:
    return f"{plural(iterations, 'session')}, {NO_LIMIT + ' in $' if cost is None else money(cost)}"
