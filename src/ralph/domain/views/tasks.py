"""A task as a screen shows it: what it is waiting for, and whether somebody works on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ralph.domain.tasks.task import Task, TaskStatus


class TaskState(StrEnum):
    """The status, and for an open task why it is not done yet."""

    READY = "ready"  #: could be begun now
    WAITING = "waiting"  #: for tasks that are not done yet
    BLOCKED = "blocked"  #: by a task that failed or was cancelled
    WORKING = "working"  #: a run is at it
    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list; what is empty does not restrict. ``ready``: only what could be started now."""

    statuses: tuple[TaskStatus, ...] = ()
    spec_id: str = ""
    stage: str = ""
    assignee: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True)
class TaskView:
    """``waits_for``: ids of dependencies that are not done; ``run_id``: who works on it."""

    task: Task
    state: TaskState
    waits_for: tuple[str, ...] = ()
    run_id: str | None = None


def view_of(task: Task, unfinished: Mapping[str, TaskStatus], run_id: str | None = None) -> TaskView:
    """``unfinished`` are the dependencies that are not done; ``run_id`` None: nobody works on it."""
    waits_for = tuple(name for name in task.dependencies if name in unfinished)
    if task.status is not TaskStatus.OPEN:
        state = TaskState.WORKING if run_id is not None else TaskState(task.status.value)
    elif run_id is not None:
        state = TaskState.WORKING
    elif any(unfinished[name] in (TaskStatus.FAILED, TaskStatus.CANCELLED) for name in waits_for):
        state = TaskState.BLOCKED
    else:
        state = TaskState.WAITING if waits_for else TaskState.READY
    return TaskView(task, state, waits_for, run_id)
