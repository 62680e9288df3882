"""What a merge makes of an accepted task: done, waiting for the user, or back to the first role with a remark."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult

NOTHING_CHANGED = "accepted without any change: what verifies it passed as it was"


@dataclass(frozen=True, slots=True)
class Merged:
    """The target branch is at ``commit`` now."""

    commit: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """The work and the target changed the same places."""

    files: tuple[str, ...]
    target: str  # the commit it conflicts with


@dataclass(frozen=True, slots=True)
class Unverified:
    """Merged with the target as it is now, the work no longer passes."""

    reason: str
    target: str


@dataclass(frozen=True, slots=True)
class NotMerged:
    """The work is good, but the user's tree is in the way; nothing was touched."""

    reason: str


MergeResult = Merged | Conflict | Unverified | NotMerged


@dataclass(frozen=True, slots=True)
class SentBack:
    """The first role must work on it again. ``base``: what its work is compared with from now on."""

    remark: str
    base: str


def judge_merge(
    merge: MergeResult, task: str, *, target: str, is_unchanged: bool, is_stopping_now: bool
) -> TaskResult | SentBack:
    """``is_unchanged``: the work has no change of its own. A check that a stop ended has judged nothing."""
    match merge:
        case Merged(commit):
            return TaskResult(
                task, Outcome.COMPLETED, NOTHING_CHANGED if is_unchanged else f"merged as {commit[:12]}"
            )
        case NotMerged(reason):
            return TaskResult(task, Outcome.WAITING, f"accepted, but not merged: {reason}")
        case Conflict(files, tip):
            conflict = f"merge conflict with {target} in {', '.join(files)}"
            return SentBack(f"{conflict}: resolve it in your worktree and commit the merge", tip)
        case Unverified() if is_stopping_now:
            return TaskResult(
                task, Outcome.CANCELLED, "stopped while its merge was verified", is_stopped=True
            )
        case Unverified(reason, tip):
            return SentBack(f"after merging with {target}: {reason}", tip)


def off_branch(task: Task, branch: str) -> SentBack:
    """The agent has checked out something that does not follow from the branch of its task."""
    remark = f"your worktree has left its branch {branch}: bring your work onto it and check it out"
    return SentBack(remark, task.base_commit)


def send_back(task: Task, back: SentBack, pipeline: Pipeline) -> Task:
    """Open again, or failed if it came back too often. One that was cancelled in the meantime stays so."""
    if task.status is not TaskStatus.ACCEPTED:
        return task
    first = pipeline.roles[0]
    if task.rejections >= pipeline.max_rejections:
        return replace(task, status=TaskStatus.FAILED, reason=back.remark, stage=first)
    return replace(
        task,
        status=TaskStatus.OPEN,
        stage=first,
        used=0,
        rejections=task.rejections + 1,
        base_commit=back.base,
        remarks=(*task.remarks, f"merge: {back.remark}"),
    )
