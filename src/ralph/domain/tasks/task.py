"""A task, which goes from role to role until it is done, and what may happen to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ralph.domain.tasks.completion import TaskCompletionSpec
from ralph.values import dataclass, field, replace

DEFAULT_PRIORITY = 5
EARLIER = "an earlier attempt: "
"""Begins a remark about an attempt that is over: a limit that it reached is not reached now."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TaskStatus(StrEnum):
    OPEN = "open"  #: waits for its next role, or for what it depends on
    ACCEPTED = "accepted"  #: every role accepted it; its branch is not merged yet
    DONE = "done"
    FAILED = "failed"  #: ran out of iterations, or was sent back too often
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TaskBudget:
    """What one task may use, over all its roles; None is unlimited."""

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """``stage`` is the role whose turn it is (empty: the first); ``used`` counts its iterations in this stage.

    ``iterations`` counts all of them by role, ``iteration`` in all. Smaller ``priority`` first.
    """

    id: str
    title: str
    spec_id: str = ""
    description: str = ""
    priority: int = DEFAULT_PRIORITY
    dependencies: tuple[str, ...] = ()
    assignee: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    completion_spec: TaskCompletionSpec | None = None
    budget: TaskBudget = TaskBudget()
    base: str = ""  # the branch that its pull request is for; empty: as the settings say

    status: TaskStatus = TaskStatus.OPEN
    stage: str = ""
    used: int = 0
    iterations: Mapping[str, int] = field(default_factory=dict)
    rejections: int = 0
    remarks: tuple[str, ...] = ()  # why it came back
    reason: str = ""  # why it failed or was cancelled
    branch: str = ""
    base_commit: str = ""  # where its branch began
    accepted_commit: str = ""  # what was judged when the last role accepted it; nothing else is merged
    created_at: datetime = EPOCH
    updated_at: datetime = EPOCH

    @property
    def iteration(self) -> int:
        return sum(self.iterations.values())

    @property
    def last_remark(self) -> str:
        """Why it came back in this attempt; empty if it did not."""
        last = self.remarks[-1] if self.remarks else ""
        return "" if last.startswith(EARLIER) else last

    @property
    def outcome(self) -> str:
        return self.completion_spec.outcome if self.completion_spec else ""

    @property
    def acceptance_criteria(self) -> tuple[str, ...]:
        return tuple(self.completion_spec.acceptance_criteria) if self.completion_spec else ()

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {
            "id": self.id,
            "spec_id": self.spec_id,
            "title": self.title,
            "description": self.description,
            "status": self.status.value,
            "priority": self.priority,
            "dependencies": list(self.dependencies),
            "assignee": self.assignee,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
            "metadata": dict(self.metadata),
            "iteration": self.iteration,
            "completion_spec": self.completion_spec.to_dict() if self.completion_spec else None,
            "budget": asdict(self.budget),
            "base": self.base,
            "stage": self.stage,
            "used": self.used,
            "iterations": dict(self.iterations),
            "rejections": self.rejections,
            "remarks": list(self.remarks),
            "reason": self.reason,
            "branch": self.branch,
            "base_commit": self.base_commit,
            "accepted_commit": self.accepted_commit,
        }


def count_iteration(task: Task, role: str) -> Task:
    """One more judged session of ``role``, which is its stage now."""
    counts = {**task.iterations, role: task.iterations.get(role, 0) + 1}
    used = task.used + 1 if task.stage in ("", role) else 1
    return replace(task, stage=role, used=used, iterations=counts)


PROGRESS = (
    "status",
    "stage",
    "used",
    "iterations",
    "rejections",
    "remarks",
    "completion_spec",
    "base_commit",
    "accepted_commit",
)
"""What only the harness changes while a task is worked on."""
DEFINITION = (
    "title", "spec_id", "description", "priority", "dependencies", "assignee", "metadata", "completion_spec", "budget", "base",
)  # fmt: skip
"""What a task asks for."""


def has_moved(before: Task, after: Task) -> bool:
    """Whether anyone changed how far a task is, or what it is judged by."""
    return any(getattr(before, name) != getattr(after, name) for name in PROGRESS)


def keep_progress(known: Task, task: Task) -> Task:
    """``task`` with the progress of ``known``."""
    return replace(task, **{name: getattr(known, name) for name in PROGRESS})


def can_be_cancelled(task: Task) -> bool:
    return task.status in (TaskStatus.OPEN, TaskStatus.ACCEPTED)


def cancel(task: Task, reason: str = "cancelled by the user") -> Task:
    """Ended by the user. A task that is over stays as it is."""
    return replace(task, status=TaskStatus.CANCELLED, reason=reason) if can_be_cancelled(task) else task


def can_be_reopened(task: Task) -> bool:
    """Only work that was not finished. What is done gets a follow-up instead: others have built on it."""
    return task.status in (TaskStatus.FAILED, TaskStatus.CANCELLED)


def reopen(task: Task, stage: str | None = None) -> Task:
    """Try it again, from its current stage or from ``stage``; the remarks stay, for the agent to learn from."""
    if not can_be_reopened(task):
        return task
    stage = task.stage if stage is None else stage
    remarks = task.remarks
    if task.status is TaskStatus.FAILED and task.reason:
        earlier = (one for one in remarks if one != task.reason)
        remarks = tuple(dict.fromkeys((*earlier, f"{EARLIER}{task.reason}")))
    return replace(
        task, status=TaskStatus.OPEN, stage=stage, used=0, rejections=0, reason="", remarks=remarks
    )


def mark_merged(task: Task) -> Task:
    """Done: its branch is merged."""
    return replace(task, status=TaskStatus.DONE, reason="") if task.status is TaskStatus.ACCEPTED else task


def redefine(task: Task, wanted: Task) -> Task:
    """``task``, as far as it is, but asking for what ``wanted`` asks for."""
    return replace(task, **{name: getattr(wanted, name) for name in DEFINITION})


class TaskAsk(StrEnum):
    """What a person may ask of a task."""

    CANCEL = "cancel"
    RETRY = "retry"


def possible_asks(task: Task) -> tuple[TaskAsk, ...]:
    """What makes sense now."""
    allowed = {TaskAsk.CANCEL: can_be_cancelled, TaskAsk.RETRY: can_be_reopened}
    return tuple(ask for ask, rule in allowed.items() if rule(task))
