"""How ``ralph work`` ended, from what became of each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.task import Task, TaskStatus, can_be_reopened
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of one task in this run."""

    task: str
    outcome: Outcome
    reason: str
    is_stopped: bool = False  # with everything else: the task itself was not cancelled, and is still open
    is_begun: bool = True  # False: this run did not work on it
    own_word: str = ""  # for the result, if not that of its outcome

    @property
    def word(self) -> str:
        return self.own_word or ("stopped" if self.is_stopped else WORDS[self.outcome])


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
            why = f"before this run: {task.reason or 'it failed'}"
            return TaskResult(task.id, Outcome.FAILED, why, is_begun=False)
        case TaskStatus.CANCELLED:
            why = f"before this run: {task.reason or 'cancelled'}"
            return TaskResult(task.id, Outcome.CANCELLED, why, is_begun=False)
        case _:
            return None


def result_of_left(task: Task, needs: Sequence[Task], *, ended_by: str = "") -> TaskResult:
    """Of a task that was wanted and that nobody began. ``needs``: what it waits for that is not done; ``ended_by``: the
    limit or the stop that came first, if one did."""
    over = [need for need in needs if can_be_reopened(need)]
    if over:
        told = ", ".join(
            f"{need.id}, which {'failed' if need.status is TaskStatus.FAILED else 'was cancelled'}"
            for need in over
        )
    else:
        told = ", ".join(need.id for need in needs)
    why = f"waits for {told}" if told else ended_by or "another run works on it"
    word = "blocked" if over else "waiting" if needs else "not begun"
    return TaskResult(task.id, Outcome.WAITING, why, is_begun=False, own_word=word)


def retry_hint(over: Sequence[Task]) -> str:
    """``over``: what is failed or cancelled and was wanted, or is waited for."""
    if not over:
        return ""
    names = " ".join(task.id for task in over[:5])
    more = f" (and {len(over) - 5} more)" if len(over) > 5 else ""
    return f"`ralph task retry {names}`{more}, then `ralph work`, which by itself does not retry what failed or was cancelled"


def outcome_of(
    results: Sequence[TaskResult],
    *,
    left: Sequence[str],
    is_stopped: bool,
    limit: str = "",
    stays: bool = False,
) -> Outcome:
    """``left``: what was wanted and is not done. A stop or a limit counts only if it left something; whoever ``stays`` for
    more is never done."""
    outcomes = {result.outcome for result in results}
    if limit and (left or stays or outcomes - {Outcome.COMPLETED}):
        return Outcome.EXHAUSTED
    if is_stopped and (left or stays or Outcome.CANCELLED in outcomes):
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


def reason_of(
    results: Sequence[TaskResult], *, left: Sequence[TaskResult] = (), is_single: bool = False
) -> str:
    """``left``: what nobody began. ``is_single``: one task was asked for, so what became of it is what became of the whole."""
    if is_single and len(results) == 1 and results[0].is_begun and not left:
        return "stopped by the user" if results[0].is_stopped else results[0].reason
    if not results and len(left) == 1:
        return f"{left[0].task} {left[0].reason}" if left[0].reason.startswith("waits") else left[0].reason
    counts = Counter(result.word for result in results)
    told = [f"{number} {word}" for word, number in counts.items()]
    for word in dict.fromkeys(one.word for one in left):
        names = [one.task for one in left if one.word == word]
        told.append(f"{len(names)} {word}: {', '.join(names[:5])}{' …' if len(names) > 5 else ''}")
    return "; ".join(told) or "no task is left to do"
