"""How ``ralph work`` ended, from what became of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ralph.domain.decision import Outcome


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of one task in this run."""

    task: str
    outcome: Outcome
    reason: str


def outcome_of(
    results: Sequence[TaskResult], *, left: Sequence[str], is_stopped: bool, limit: str = ""
) -> Outcome:
    """``left``: what was wanted and is not done. A stop is told only if it left something."""
    outcomes = {result.outcome for result in results}
    if limit:
        return Outcome.EXHAUSTED
    if is_stopped and (left or Outcome.CANCELLED in outcomes):
        return Outcome.CANCELLED
    if outcomes & {Outcome.FAILED, Outcome.EXHAUSTED, Outcome.CANCELLED}:
        return Outcome.EXHAUSTED
    if left or Outcome.WAITING in outcomes:
        return Outcome.WAITING
    return Outcome.COMPLETED


def reason_of(results: Sequence[TaskResult], *, left: Sequence[str], is_stopped: bool) -> str:
    words = {
        Outcome.COMPLETED: "done",
        Outcome.FAILED: "failed",
        Outcome.EXHAUSTED: "failed",
        Outcome.CANCELLED: "stopped" if is_stopped else "cancelled",
        Outcome.WAITING: "waiting",
    }
    counts = Counter(words[result.outcome] for result in results)
    told = [f"{number} {word}" for word, number in counts.items()]
    named = {result.task for result in results}
    if still := [name for name in left if name not in named]:
        told.append(f"{len(still)} not begun: {', '.join(still[:5])}{' …' if len(still) > 5 else ''}")
    return "; ".join(told) or "nothing was ready"
