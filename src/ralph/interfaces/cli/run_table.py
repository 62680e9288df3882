"""Runs as aligned columns. On a terminal the least important ones give way; in a pipe nothing is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ralph.domain.text.figures import compact, money
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import RunState, RunView
from ralph.interfaces.cli.console.marks import Colors, colors_of, marks_of
from ralph.interfaces.cli.console.terminal import Look, display_width, fit

GAP = "  "
LEAST_WHY = 16
"""Columns that the last one needs to be worth showing."""
LONGEST_CELL = 24

_COLOR_OF: dict[RunState, str] = {
    RunState.RUNNING: "cyan",
    RunState.PAUSED: "yellow",
    RunState.WAITING: "yellow",
    RunState.INTERRUPTED: "red",
    RunState.COMPLETED: "green",
    RunState.EXHAUSTED: "red",
    RunState.CANCELLED: "yellow",
    RunState.FAILED: "red",
}


@dataclass(frozen=True, slots=True)
class Column:
    """``rank``: the highest gives way first; 0 always stays. ``rare``: only where some run has something to say there."""

    title: str
    cell: Callable[[RunView, float], str]
    rank: int = 0
    rare: bool = False


COLUMNS = (
    Column("run", lambda run, _: run.id),
    Column("state", lambda run, _: run.state.value),
    Column("task", lambda run, _: _task(run), rare=True),
    Column("iteration", lambda run, _: _iteration(run), 1),
    Column("spent", lambda run, _: _spent(run), 3),
    Column("last check", lambda run, _: _check(run), 2),
    Column("active", lambda run, now: age(now - run.active_at), 1),
    Column("profile", lambda run, _: run.profile, 4),
    Column("agent", lambda run, _: run.agent, 5),
    Column("why", lambda run, now: why(run, now)),
)


def render_table(runs: Sequence[RunView], *, now: float, look: Look, width: int | None) -> list[str]:
    """Lines; ``width`` None is a pipe."""
    cells = [[clean_line(column.cell(run, now)) or "-" for column in COLUMNS] for run in runs]
    more = marks_of(look).more
    if width is not None:
        cells = [[fit(cell, LONGEST_CELL, ellipsis=more) for cell in row[:-1]] + row[-1:] for row in cells]
    widths = [
        max([display_width(column.title), *(display_width(row[index]) for row in cells)])
        for index, column in enumerate(COLUMNS)
    ]
    told = [
        index
        for index, column in enumerate(COLUMNS)
        if not column.rare or any(row[index] != "-" for row in cells)
    ]
    shown = _fitting(told, widths, width)
    colors = colors_of(look)
    head = _line([column.title for column in COLUMNS], shown, widths, width, more)
    lines = [f"{colors.bold}{head}{colors.off}"]
    for run, row in zip(runs, cells, strict=True):
        line = _line(row, shown, widths, width, more)
        lines.append(_colored(line, run.state, colors))
    return lines


def _fitting(told: Sequence[int], widths: Sequence[int], width: int | None) -> list[int]:
    """The columns that there is room for; the last takes what is left."""
    shown = list(told)
    if width is None:
        return shown
    last = shown[-1]
    by_rank = sorted(shown, key=lambda index: COLUMNS[index].rank, reverse=True)
    for index in (*(index for index in by_rank if COLUMNS[index].rank), last):
        needed = [min(widths[last], LEAST_WHY) if number == last else widths[number] for number in shown]
        if sum(needed) + len(GAP) * (len(needed) - 1) < width:
            break
        shown.remove(index)
    return shown


def _line(
    row: Sequence[str], shown: Iterable[int], widths: Sequence[int], width: int | None, more: str
) -> str:
    padded = [row[index] + " " * (widths[index] - display_width(row[index])) for index in shown]
    line = GAP.join(padded).rstrip()
    return line if width is None else fit(line, width - 1, ellipsis=more)


def _colored(line: str, state: RunState, colors: Colors) -> str:
    before, word, after = line.partition(f"{GAP}{state.value}")
    color = getattr(colors, _COLOR_OF[state])
    return f"{before}{color}{word}{colors.off}{after}" if word and color else line


def _task(run: RunView) -> str:
    """The task, and the role whose turn it is."""
    return f"{run.task} {run.role}".rstrip() if run.task else ""


def _iteration(run: RunView) -> str:
    return str(run.iteration) if run.maximum is None else f"{run.iteration}/{run.maximum}"


def _spent(run: RunView) -> str:
    parts = [money(run.cost_usd, at_least=run.cost_is_partial)] if run.cost_usd is not None else []
    if run.tokens:
        parts.append(f"{compact(run.tokens)} tokens")
    return ", ".join(parts)


def _check(run: RunView) -> str:
    return f"{run.last_check.verdict}: {run.last_check.name}" if run.last_check is not None else ""


def why(run: RunView, now: float) -> str:
    """Why it ended, or what it waits for."""
    if run.state is RunState.INTERRUPTED:
        return "its process died"
    reason = run.reason
    if run.live and run.waits_until is not None and run.state is RunState.WAITING:
        reason = f"{age(run.waits_until - now, ago=False)} left: {reason}"
    if run.state is RunState.COMPLETED and run.concerns:
        number = len(run.concerns)
        reason += f" (with {number} concern{'' if number == 1 else 's'})"
    return reason


def age(seconds: float, *, ago: bool = True) -> str:
    """14s ago, 3m ago, 5h ago, 2d ago; a clock that was set back makes it now."""
    left = max(0, int(seconds)) if seconds < 1e12 else 0
    unit, size = next(
        ((unit, size) for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)) if left >= size), ("s", 1)
    )
    return f"{left // size}{unit}{' ago' if ago else ''}"
