"""A task from the flags of a command, and the report that it was added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph.domain.tasks.entry import Known, read_entries
from ralph.domain.tasks.task import Task
from ralph.domain.text.safe_text import clean_line
from ralph.interfaces.cli.tasks.flags import refuse
from ralph.interfaces.cli.tasks.opening import print_json


def make_task(entry: Mapping[str, Any], known: Known) -> Task:
    """Raises UsageError with everything that is wrong."""
    entries = read_entries({"id": "", "title": "", "completion": {}, **entry}, known)
    refuse(entries.problems)
    ((_, task),) = entries.tasks
    return task


def report_added(task: Task, *, as_json: bool) -> None:
    if as_json:
        print_json({"task": task.to_dict()})
    else:
        print(f"added {clean_line(task.id)}: {clean_line(task.title)}")
