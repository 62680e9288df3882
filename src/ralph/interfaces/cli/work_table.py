"""What became of the tasks of a ``ralph work``, as aligned columns."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ralph.domain.tasks.work_result import TaskResult
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.console.terminal import display_width, fit

if TYPE_CHECKING:
    from ralph.operations.runs.start import Launch

GAP = "  "
_HEAD = ("task", "result", "iterations", "sent back", "why")


def result_lines(results: Sequence[TaskResult], *, width: int | None = None) -> Iterator[str]:
    """``width`` None is a pipe: nothing is cut."""
    table = [_HEAD, *map(_cells, results)]
    widths = [max(display_width(row[index]) for row in table) for index in range(len(_HEAD))]
    for row in table:
        line = GAP.join(
            cell + " " * (wide - display_width(cell)) for cell, wide in zip(row, widths, strict=True)
        )
        yield line.rstrip() if width is None else fit(line.rstrip(), width - 1)


def print_results(launch: Launch) -> None:
    """After a ``ralph work``, also one that was resumed; nothing for other runs."""
    from ralph.operations.runs.start import task_results

    if results := task_results(launch):
        width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
        print("", *result_lines(results, width=width), sep="\n", file=sys.stderr)


def _cells(result: TaskResult) -> tuple[str, ...]:
    return (
        clean_line(result.task),
        result.word,
        str(result.iterations),
        str(result.rejections),
        clean_line(result.reason.partition("\n")[0]),
    )
