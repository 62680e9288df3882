"""A task as a screen shows it: what it waits for, and which run works on it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ralph.domain.tasks.task import Task, TaskStatus
from ralph.values import dataclass


class TaskState(StrEnum):
    """The status; for an open task, why it is not done yet."""

    READY = "ready"  #: can start now
    WAITING = "waiting"  #: for tasks that are not done yet
    BLOCKED = "blocked"  #: by a task that failed or was cancelled
    WORKING = "working"  #: a run works on it
    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list; empty fields match all. ``ready``: only those that can start now."""

    statuses: tuple[TaskStatus, ...] = ()
    spec_id: str = ""
    stage: str = ""
    assignee: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True)
class TaskView:
    """``waits_for``: ids of unfinished dependencies; ``run_id``: the run that works on it."""

    task: Task
    state: TaskState
    waits_for: tuple[str, ...] = ()
    run_id: str | None = None


def view_of(task: Task, unfinished: Mapping[str, TaskStatus], run_id: str | None = None) -> TaskView:
    """``unfinished``: the dependencies that are not done; ``run_id``: the run that works on it, if any."""
    waits_for = tuple(name for name in task.dependencies if name in unfinished)
    if run_id is not None:
        state = TaskState.WORKING
    elif task.status is not TaskStatus.OPEN:
        state = TaskState(task.status.value)
    elif any(unfinished[name] in (TaskStatus.FAILED, TaskStatus.CANCELLED) for name in waits_for):
        state = TaskState.BLOCKED
    else:
        state = TaskState.WAITING if waits_for else TaskState.READY
    return TaskView(task, state, waits_for, run_id)
