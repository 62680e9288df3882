"""Tasks as aligned columns. On a terminal the title takes what is left and is cut; in a pipe nothing is."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.tasks import TaskState, TaskView
from ralph.interfaces.cli.console.marks import colors_of, marks_of
from ralph.interfaces.cli.console.terminal import Look, display_width, fit

GAP = "  "
LEAST_TITLE = 20
LONGEST_CELL = 20
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
_HEAD = ("task", "state", "stage", "iterations", "priority", "waits for", "title")
_GIVE_WAY = (4, 5, 3, 2)
"""Columns that are left out first where there is too little room."""


def render_tasks(views: Sequence[TaskView], *, look: Look, width: int | None) -> list[str]:
    """Lines; ``width`` None is a pipe."""
    more = marks_of(look).more
    rows = [_cells(view) for view in views]
    if width is not None:
        rows = [[fit(cell, LONGEST_CELL, ellipsis=more) for cell in row[:-1]] + row[-1:] for row in rows]
    widths = [max(display_width(row[index]) for row in [list(_HEAD), *rows]) for index in range(len(_HEAD))]
    shown = _fitting(widths, width)
    colors = colors_of(look)

    def line(cells: Sequence[str], color: str = "") -> str:
        parts = []
        room = (width or 0) - 1
        for index in shown:
            text = cells[index] + " " * (widths[index] - display_width(cells[index]))
            if index == len(_HEAD) - 1:
                text = text.rstrip() if width is None else fit(cells[index], max(0, room), ellipsis=more)
            room -= display_width(text) + len(GAP)
            parts.append(f"{color}{text}{colors.off}" if index == 1 and color else text)
        return GAP.join(parts).rstrip()

    head = line(_HEAD)
    states = [getattr(colors, COLOR_OF[view.state]) for view in views]
    return [
        f"{colors.bold}{head}{colors.off}",
        *(line(row, color) for row, color in zip(rows, states, strict=True)),
    ]


def _cells(view: TaskView) -> list[str]:
    task = view.task
    waits = view.waits_for
    wait = clean_line(waits[0]) + (f" +{len(waits) - 1}" if len(waits) > 1 else "") if waits else "-"
    return [
        clean_line(task.id),
        view.state.value,
        clean_line(task.stage) or "-",
        str(task.iteration),
        str(task.priority),
        wait,
        clean_line(task.title),
    ]


def _fitting(widths: Sequence[int], width: int | None) -> list[int]:
    shown = list(range(len(_HEAD)))
    if width is None:
        return shown
    for index in _GIVE_WAY:
        needed = sum(widths[one] for one in shown[:-1]) + len(GAP) * (len(shown) - 1)
        if needed + min(LEAST_TITLE, widths[-1]) < width:
            break
        shown.remove(index)
    return shown
