"""Reads what the tasks that are left ask for, without touching the record."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.storage.run_reader import open_reader
from ralph.adapters.storage.task_rows import COLUMNS, task_of
from ralph.domain.tasks.demands import task_demands
from ralph.domain.tasks.task import TaskStatus
from ralph.domain.trust.demand import Demand

# Only what a task says of its roles can ask for anything, and thousands of tickets say nothing of them: such a spec has two
# keys. They are counted as they will be read: by its text a key could hide in another spelling. What SQLite cannot read, Python
# may: NaN, for one.
_LEFT = f"""SELECT {COLUMNS} FROM tasks
    WHERE status NOT IN (?, ?) AND CASE
        WHEN completion_spec IS NULL THEN 0
        WHEN json_valid(completion_spec) THEN (SELECT count(*) FROM json_each(completion_spec)) > 2
        ELSE 1 END"""  # noqa: S608 (our own words)
_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tasks'"


def demands_of_tasks(state_folder: Path) -> tuple[Demand, ...]:
    """Raises StoreError if the record cannot be read."""
    reader = open_reader(state_folder)
    if reader is None:
        return ()
    with reader:
        if not reader.query(_TABLE):  # an earlier version wrote it
            return ()
        rows = reader.query(_LEFT, TaskStatus.DONE, TaskStatus.CANCELLED)
        return task_demands(map(task_of, rows))
