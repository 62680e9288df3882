"""``ralph work --dry-run``: what the tasks will probably cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from ralph.domain.tasks.estimate import Range, TaskEstimate, WorkEstimate
from ralph.domain.text.figures import money, plural, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.folding import print_folded
from ralph.interfaces.cli.options import print_json
from ralph.interfaces.cli.table import Column, table_lines

UNKNOWN = "unknown"

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


def print_estimate(estimate: WorkEstimate, setup: Sequence[str] = (), *, as_json: bool) -> None:
    """``setup``: the commands that each worktree is set up by."""
    if as_json:
        print_json(asdict(estimate))
        return
    if estimate.tasks:
        rows = [*map(_row, estimate.tasks), _total(estimate)]
        print("\n".join([*table_lines(_COLUMNS, rows, sys.stdout), ""]))
    told = [f"Each task's worktree is set up by: {clean_line(' && '.join(setup))}"] if setup else []
    print_folded("\n".join((*_explanation(estimate), *told)))


def _explanation(estimate: WorkEstimate) -> Iterator[str]:
    if estimate.tasks:
        yield (
            "Of two figures, half of the tasks with the same roles and verification needed at most the first, nine of ten"
            ' at most the second. "at most" is what the limits allow.'
        )
        if estimate.most_cost_usd is None:
            yield "There is no limit on the cost; --max-cost sets one."
    else:
        yield "no task is ready, and none will be: `ralph task list` shows why"
    if estimate.unknown:
        names = clean_line(", ".join(estimate.unknown))
        yield f"Not in the total, because nothing like it has been finished at a known cost: {names}"
    if estimate.left_out:
        names = clean_line(", ".join(estimate.left_out))
        yield f"Not begun, because a task that they wait for failed or was cancelled: {names}"


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
    return plural(iterations, "session") + ("" if cost is None else f", {money(cost)}")
