"""Tasks as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.views.tasks import TaskState, TaskView
from ralph.interfaces.cli.console.terminal import Look
from ralph.interfaces.cli.table import Cell, Column, render_table

COLOR_OF: dict[TaskState, str] = {
    TaskState.READY: "bold",
    TaskState.WAITING: "dim",
    TaskState.BLOCKED: "yellow",
    TaskState.WORKING: "cyan",
    TaskState.ACCEPTED: "cyan",
    TaskState.DONE: "green",
    TaskState.FAILED: "red",
    TaskState.CANCELLED: "yellow",
}
_COLUMNS = (
    Column("task"),
    Column("state"),
    Column("stage", 1),
    Column("iterations", 2),
    Column("priority", 4),
    Column("waits for", 3),
    Column("title"),
)


def task_lines(views: Sequence[TaskView], *, look: Look, width: int | None) -> list[str]:
    """``width`` None is a pipe."""
    return render_table(_COLUMNS, [_row(view) for view in views], look=look, width=width)


def _row(view: TaskView) -> tuple[Cell | str, ...]:
    task = view.task
    first, *others = view.waits_for or ("",)
    return (
        task.id,
        Cell(view.state.value, COLOR_OF[view.state]),
        task.stage,
        str(task.iteration),
        str(task.priority),
        f"{first} +{len(others)}" if others else first,
        task.title,
    )
