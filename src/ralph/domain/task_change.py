"""What happened to a task, from how it was before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ralph.domain.task import Task, TaskStatus

_DEFINITION = (
    "title",
    "spec_id",
    "description",
    "priority",
    "dependencies",
    "assignee",
    "metadata",
    "completion_spec",
    "budget",
)


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """``kind`` is created, edited, stage, rejected, reopened, or the new status. ``at``: seconds since the epoch."""

    kind: str
    text: str = ""
    at: float = 0.0


def changes(before: Task, after: Task) -> Iterator[TaskEvent]:
    """In the order in which a person would tell them; counting an iteration is not worth a word."""
    edited = [name for name in _DEFINITION if getattr(before, name) != getattr(after, name)]
    if edited:
        yield TaskEvent("edited", ", ".join(edited))
    if after.rejections > before.rejections:
        yield TaskEvent("rejected", after.remarks[-1] if after.remarks else "")
    if before.status is not after.status:
        if after.status is TaskStatus.OPEN:
            yield TaskEvent("reopened", f"was {before.status}")
        else:
            yield TaskEvent(after.status.value, after.reason)
    if before.stage != after.stage and after.stage:
        yield TaskEvent("stage", after.stage)
