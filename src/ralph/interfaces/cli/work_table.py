"""What became of the tasks of a ``ralph work``, as a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ralph.interfaces.cli.table import Column, table_lines

if TYPE_CHECKING:
    from ralph.domain.tasks.work_result import TaskResult
    from ralph.operations.runs.start import Launch

_COLUMNS = (Column("task"), Column("result"), Column("iterations", 1), Column("sent back", 2), Column("why"))


def print_results(launch: Launch) -> None:
    """After a ``ralph work``, also one that was resumed; nothing for other runs."""
    from ralph.operations.runs.start import task_results

    if results := task_results(launch):
        lines = table_lines(_COLUMNS, [_row(result) for result in results], sys.stderr)
        print("", *lines, sep="\n", file=sys.stderr)


def _row(result: TaskResult) -> tuple[str, ...]:
    reason = result.reason.partition("\n")[0]
    return result.task, result.word, str(result.iterations), str(result.rejections), reason
