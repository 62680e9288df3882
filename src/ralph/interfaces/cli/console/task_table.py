"""What became of each task of a `ralph work`: a line when one ends, a table of all at the end."""

from __future__ import annotations

from typing import TextIO

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import TaskReported
from ralph.domain.text.figures import money, plural, totals, whole_duration
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.table import Cell, Column, render_table
from ralph.interfaces.cli.terminal import Look, is_terminal, terminal_width

COLUMNS = (
    Column("task"),
    Column("result"),
    Column("title", 1),
    Column("iterations", 3),
    Column("sent back", 5),
    Column("cost", 2, rare=True),
    Column("time", 4),
    Column("why", folds=True),
)
_COLORS = {Outcome.COMPLETED: "green", Outcome.FAILED: "red", Outcome.EXHAUSTED: "red"}


class TaskTable:
    """Collects what is reported. ``stream``: where it will be printed; a pipe gets everything."""

    def __init__(self, stream: TextIO, look: Look) -> None:
        self._stream = stream
        self._look = look
        self._tasks: list[TaskReported] = []

    def add(self, task: TaskReported) -> None:
        self._tasks.append(task)

    @property
    def told(self) -> set[str]:
        """What need not be said again below the table."""
        left = (task for task in self._tasks if task.outcome is not Outcome.COMPLETED)
        return {f"{task.task}: {task.reason}" for task in left if "\n" not in task.reason}

    def lines(self) -> list[str]:
        if not self._tasks:
            return []
        width = terminal_width(self._stream, self._look.width) if is_terminal(self._stream) else None
        rows = [_row(task) for task in self._tasks]
        return ["", *render_table(COLUMNS, rows, look=self._look, width=width)]


def reported(task: TaskReported) -> str:
    """The line when it ends."""
    figures = totals(
        cost_usd=task.spend.cost_usd, at_least=task.spend.is_partly_unknown, seconds=task.seconds
    )
    reason = task.reason.partition("\n")[0]
    return clean_line(f"{task.result}: {reason} ({plural(task.iterations, 'iteration')} in all, {figures})")


def _row(task: TaskReported) -> tuple[Cell | str, ...]:
    spend = task.spend
    return (
        task.task,
        Cell(task.result, _COLORS.get(task.outcome, "yellow")),
        task.title,
        str(task.iterations),
        str(task.rejections),
        money(spend.cost_usd, at_least=spend.is_partly_unknown) if spend.cost_usd is not None else "",
        whole_duration(task.seconds) if task.is_begun else "",
        task.reason.partition("\n")[0],
    )
