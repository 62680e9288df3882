"""Runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.text.figures import age, compact, money
from ralph.domain.views.runs import RunState, RunView
from ralph.interfaces.cli.console.terminal import Look
from ralph.interfaces.cli.table import Cell, Column, render_table

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


_COLUMNS = (
    Column("run"),
    Column("state"),
    Column("task", rare=True),
    Column("iteration", 1),
    Column("spent", 3),
    Column("last check", 2),
    Column("active", 1),
    Column("profile", 4),
    Column("agent", 5),
    Column("why"),
)


def run_lines(runs: Sequence[RunView], *, now: float, look: Look, width: int | None) -> list[str]:
    """``width`` None is a pipe."""
    return render_table(_COLUMNS, [_row(run, now) for run in runs], look=look, width=width)


def _row(run: RunView, now: float) -> tuple[Cell | str, ...]:
    return (
        run.id,
        Cell(run.state.value, _COLOR_OF[run.state]),
        _task(run),
        _iteration(run),
        _spent(run),
        _check(run),
        age(now - run.active_at),
        run.profile,
        run.agent,
        why(run, now),
    )


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
