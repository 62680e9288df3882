"""What is kept of a task's past: each verification, each stage that is over, and each change."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.loop.evidence import Evidence, Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.tasks.task import DEFINITION, Task, TaskStatus
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRecord:
    """One verification of one iteration. ``at`` is in seconds since the epoch."""

    task_id: str
    role: str
    iteration: int
    method: str
    promise_found: bool
    verified: bool
    reason: str
    at: float
    seconds: float = 0.0
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """A stage that is over: accepted, or given up. ``iterations`` are those of this visit."""

    task_id: str
    role: str
    method: str
    accepted: bool
    iterations: int
    at: float
    seconds: float = 0.0
    cost_usd: float | None = None
    tokens: int = 0
    reason: str = ""
    run_id: str = ""


def why_not(evidence: Evidence) -> str:
    """The reason of each check that failed, in one line; empty if none did. A skipped one has said nothing."""
    failing = (
        result for result in evidence.results if not result.holds and result.verdict is not Verdict.SKIPPED
    )
    told = (f"{check_words(one.name)}: {one.reason.strip().partition(chr(10))[0]}" for one in failing)
    return "; ".join(one.removesuffix(": ") for one in told)


# --- changes ---


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """``kind`` is created, edited, stage, rejected, reopened, or the new status. ``at``: seconds since the epoch."""

    kind: str
    text: str = ""
    at: float = 0.0


def changes(before: Task, after: Task) -> Iterator[TaskEvent]:
    """In the order in which a person would report them; a counted iteration is not worth mentioning."""
    edited = [name for name in DEFINITION if getattr(before, name) != getattr(after, name)]
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
