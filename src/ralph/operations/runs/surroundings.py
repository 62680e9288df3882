"""The runs that this process is a part of: those of the agent that started it, if one did.

Its environment names the run, unless a program in between passed none of that on, as clients of MCP servers do; then its
ancestors tell.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from ralph.adapters.processes.process_table import is_ancestor
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.runs import RunView
from ralph.errors import UsageError
from ralph.operations.runs.read import RunRecord, open_record

RUN, TASK = "RALPH_RUN_ID", "RALPH_TASK_ID"


def surrounding_variables(
    state_folder: Path, workspace: Path, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """What makes a run that is started here a child of the one around it; empty if the environment does, or none is."""
    record = None if environ.get(RUN) else open_record(state_folder)
    if record is None:
        return {}
    with record:
        found = _run_by_ancestors(record)
    if not found:
        return {}
    # A `ralph work` and the runs of its tasks are one process: the one that works here is meant.
    run = max(found, key=lambda one: (one.root == str(workspace), one.started_at))
    return {RUN: run.id, **({TASK: run.task} if run.task else {})}


def require_outside(state_folder: Path, run_id: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raises UsageError if this process is a part of that run: an agent does not decide about the run that judges it."""
    record = open_record(state_folder)
    if record is None:
        return
    with record:
        if all(run.id != run_id for run in _around(record, environ)):
            return
    message = f"this is inside run {clean_line(run_id)}, which may not be changed from there"
    raise UsageError(message, hint="say in your final message what should change; a person decides")


def require_no_task_around(state_folder: Path) -> None:
    """Raises UsageError where a run around this process works on a task: it must not redefine the work."""
    if task := task_around(state_folder):
        message = f"this is inside the work on task {clean_line(task)}, which may not change tasks"
        raise UsageError(message, hint="say in your final message what should change; a person decides")


def task_around(state_folder: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The task that a run around this process works on; empty: none."""
    if task := environ.get(TASK):
        return task
    record = open_record(state_folder)
    if record is None:
        return ""
    with record:
        return next((run.task for run in _around(record, environ) if run.task), "")


def _around(record: RunRecord, environ: Mapping[str, str]) -> Collection[RunView]:
    """Also the runs that started those."""
    found: dict[str, RunView] = {}
    waiting = [environ.get(RUN, ""), *(run.id for run in _run_by_ancestors(record))]
    while waiting:
        name = waiting.pop()
        if name and name not in found and (run := record.run(name)) is not None:
            found[name] = run
            waiting.append(run.parent_id)
    return found.values()


def _run_by_ancestors(record: RunRecord) -> list[RunView]:
    """The unfinished runs of the processes that started this one."""
    names = [name for name, owner in record.owners().items() if is_ancestor(owner)]
    return [run for name in names if (run := record.run(name)) is not None]
