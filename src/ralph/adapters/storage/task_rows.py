"""A task as a row and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

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
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        message = f"task {row[0]} is damaged in the record: {error}"
        raise StoreError(message, hint=f"remove it with `ralph task rm {row[0]}` and add it again") from error


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
        metadata=json.loads(row[8]),
        completion_spec=None if row[9] is None else TaskCompletionSpec.from_dict(json.loads(row[9])),
        stage=row[10],
        used=progress.get("used", 0),
        iterations=progress.get("iterations", {}),
        rejections=progress.get("rejections", 0),
        remarks=tuple(progress.get("remarks", ())),
        reason=progress.get("reason", ""),
        branch=progress.get("branch", ""),
        base_commit=progress.get("base_commit", ""),
        accepted_commit=progress.get("accepted_commit", ""),
        budget=TaskBudget(**progress.get("budget", {})),
        created_at=datetime.fromtimestamp(row[12], UTC),
        updated_at=datetime.fromtimestamp(row[13], UTC),
    )


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
    }
    return {name: value for name, value in values.items() if value}
