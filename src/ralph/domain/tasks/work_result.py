"""How ``ralph work`` ended, from what became of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.task import Task, TaskStatus


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of one task in this run."""

    task: str
    outcome: Outcome
    reason: str
    iterations: int = 0  # in all
    rejections: int = 0
    is_stopped: bool = False  # with everything else: the task itself was not cancelled, and is still open

    @property
    def word(self) -> str:
        return "stopped" if self.is_stopped else WORDS[self.outcome]


def result_of_run(task: Task, outcome: Outcome, reason: str) -> TaskResult:
    """Of a task whose run ended like this, but not with its acceptance."""
    match task.status:
        case TaskStatus.CANCELLED:
            return TaskResult(task.id, Outcome.CANCELLED, task.reason)
        case TaskStatus.FAILED:
            return TaskResult(task.id, Outcome.FAILED, task.reason)
        case _:
            return TaskResult(task.id, outcome, reason, is_stopped=outcome is Outcome.CANCELLED)


def result_of_earlier(task: Task) -> TaskResult | None:
    """Of a task that was over before this run, and not done: it is not worked on unless the user says so."""
    match task.status:
        case TaskStatus.FAILED:
            return TaskResult(task.id, Outcome.FAILED, f"before this run: {task.reason or 'it failed'}")
        case TaskStatus.CANCELLED:
            return TaskResult(task.id, Outcome.CANCELLED, f"before this run: {task.reason or 'cancelled'}")
        case _:
            return None


def retry_hint(over: Sequence[Task]) -> str:
    """``over``: what is failed or cancelled and was wanted, or is waited for."""
    if not over:
        return ""
    names = " ".join(task.id for task in over[:5])
    more = f" (and {len(over) - 5} more)" if len(over) > 5 else ""
    return f"`ralph task retry {names}`{more} first: `ralph work` does not try again what failed or was cancelled"


def outcome_of(
    results: Sequence[TaskResult], *, left: Sequence[str], is_stopped: bool, limit: str = ""
) -> Outcome:
    """``left``: what was wanted and is not done. A stop or a limit counts only if it left something."""
    outcomes = {result.outcome for result in results}
    if limit and (left or outcomes - {Outcome.COMPLETED}):
        return Outcome.EXHAUSTED
    if is_stopped and (left or Outcome.CANCELLED in outcomes):
        return Outcome.CANCELLED
    if outcomes & {Outcome.FAILED, Outcome.EXHAUSTED, Outcome.CANCELLED}:
        return Outcome.EXHAUSTED
    if left or Outcome.WAITING in outcomes:
        return Outcome.WAITING
    return Outcome.COMPLETED


WORDS = {
    Outcome.COMPLETED: "done",
    Outcome.FAILED: "failed",
    Outcome.EXHAUSTED: "unfinished",  # a limit ended it; it is still open
    Outcome.CANCELLED: "cancelled",
    Outcome.WAITING: "waiting",
}


def reason_of(results: Sequence[TaskResult], *, left: Sequence[str]) -> str:
    counts = Counter(result.word for result in results)
    told = [f"{number} {word}" for word, number in counts.items()]
    named = {result.task for result in results}
    if still := [name for name in left if name not in named]:
        told.append(f"{len(still)} not begun: {', '.join(still[:5])}{' …' if len(still) > 5 else ''}")
    return "; ".join(told) or "nothing was ready"
