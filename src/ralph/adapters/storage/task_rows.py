"""A task as a row and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeVar

from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.domain.tasks.task import Task, TaskBudget, TaskStatus
from ralph.errors import StoreError

CHANGEABLE = (
    "spec_id, title, description, status, priority, dependencies, assignee, metadata, completion_spec,"
    " stage, progress, created_at, updated_at"
)
CHANGEABLE_PLACES = ", ".join("?" * 13)
COLUMNS = f"id, {CHANGEABLE}"
PLACES = f"?, {CHANGEABLE_PLACES}"

Row = tuple[Any, ...]
T = TypeVar("T", int, str)


def row_of(task: Task) -> Row:
    spec = None if task.completion_spec is None else json.dumps(task.completion_spec.to_dict())
    return (
        task.id,
        task.spec_id,
        task.title,
        task.description,
        task.status.value,
        task.priority,
        json.dumps(task.dependencies),
        task.assignee,
        json.dumps(dict(task.metadata)),
        spec,
        task.stage,
        json.dumps(_progress(task)),
        task.created_at.timestamp(),
        task.updated_at.timestamp(),
    )


def task_of(row: Row) -> Task:
    """Raises StoreError if the row is damaged."""
    try:
        return _task_of(row)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(row[0], error) from error


def status_of(task_id: str, status: str) -> TaskStatus:
    """Raises StoreError if there is no such status."""
    try:
        return TaskStatus(status)
    except ValueError as error:
        raise _damaged(task_id, error) from error


def _damaged(task_id: str, error: Exception) -> StoreError:
    message = f"task {task_id} is damaged in the record: {error}"
    return StoreError(message, hint=f"remove it with `ralph task rm {task_id}` and add it again")


def _task_of(row: Row) -> Task:
    progress = json.loads(row[11])
    return Task(
        id=row[0],
        spec_id=row[1],
        title=row[2],
        description=row[3],
        status=TaskStatus(row[4]),
        priority=row[5],
        dependencies=tuple(json.loads(row[6])),
        assignee=row[7],
        metadata=dict(json.loads(row[8])),
        completion_spec=None if row[9] is None else TaskCompletionSpec.from_dict(json.loads(row[9])),
        stage=row[10],
        used=_typed(progress, "used", 0),
        iterations={str(role): int(count) for role, count in progress.get("iterations", {}).items()},
        rejections=_typed(progress, "rejections", 0),
        remarks=tuple(map(str, progress.get("remarks", ()))),
        reason=_typed(progress, "reason", ""),
        branch=_typed(progress, "branch", ""),
        base_commit=_typed(progress, "base_commit", ""),
        accepted_commit=_typed(progress, "accepted_commit", ""),
        budget=TaskBudget(**progress.get("budget", {})),
        base=_typed(progress, "base", ""),
        created_at=datetime.fromtimestamp(row[12], UTC),
        updated_at=datetime.fromtimestamp(row[13], UTC),
    )


def _typed(progress: dict[str, Any], key: str, default: T) -> T:
    """Raises TypeError if it is of another type than its default."""
    value = progress.get(key, default)
    if not isinstance(value, type(default)):
        message = f"{key} is {value!r:.80}"
        raise TypeError(message)
    return value


def _progress(task: Task) -> dict[str, Any]:
    """Only what differs from a new task: most rows are short."""
    values = {
        "used": task.used,
        "iterations": dict(task.iterations),
        "rejections": task.rejections,
        "remarks": list(task.remarks),
        "reason": task.reason,
        "branch": task.branch,
        "base_commit": task.base_commit,
        "accepted_commit": task.accepted_commit,
        "budget": {name: limit for name, limit in asdict(task.budget).items() if limit is not None},
        "base": task.base,
    }
    return {name: value for name, value in values.items() if value}
