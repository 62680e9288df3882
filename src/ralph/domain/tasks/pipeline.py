"""A task's way: coder → reviewer → tester → qa, or whichever roles the settings name, each after the one before has
accepted it; then the merge, which makes it done, leaves it waiting for the user, or sends it back with a remark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralph.domain.loop.decision import Acceptance, Outcome
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.roles import ROLES, CompletionDefaults
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult
from ralph.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an item's way."""

    role: str
    promise: str = ""
    limit: int | None = None
    acceptance: Acceptance = Acceptance.CLAIM_AND_PROOF


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A role that rejects or gives up sends the task back to the first, at most ``max_rejections`` times.

    ``templates``: what each role is told. ``finished``: the status of a task that the last role has accepted; ACCEPTED
    where its branch must still be merged.
    """

    roles: tuple[str, ...] = tuple(ROLES)
    defaults: CompletionDefaults = field(default_factory=CompletionDefaults)
    templates: Mapping[str, str] = field(default_factory=dict)
    max_rejections: int = 3
    finished: TaskStatus = TaskStatus.DONE

    def next_step(self, item: Task) -> Step | None:
        if item.status is not TaskStatus.OPEN:
            return None
        # A role that the settings no longer have starts over: changing them skips nothing.
        role = item.stage if item.stage in self.roles else self.roles[0]
        criteria = criteria_for(item, role, self.defaults)
        return Step(role, promise=criteria.promise, limit=criteria.max_iterations)

    def advance(self, item: Task, step: Step, *, accepted: bool, reason: str = "", commit: str = "") -> Task:
        """``commit``: what was judged when the role's work was accepted."""
        position = self.roles.index(step.role)
        if accepted:
            if position + 1 == len(self.roles):
                return replace(item, status=self.finished, stage="", used=0, accepted_commit=commit)
            return replace(item, stage=self.roles[position + 1], used=0)
        if position == 0 or item.rejections >= self.max_rejections:
            return self.fail(item, step, reason=reason)
        item = replace(item, remarks=(*item.remarks, f"{step.role}: {reason}"))
        return replace(item, stage=self.roles[0], used=0, rejections=item.rejections + 1)

    def fail(self, item: Task, step: Step, *, reason: str) -> Task:
        """Nobody can continue it as it is, whichever role it was."""
        why = f"{step.role}: {reason}"
        remarks = (*item.remarks, why)
        return replace(item, status=TaskStatus.FAILED, stage=step.role, reason=why, remarks=remarks)


# --- the merge of accepted work ---

MOST_NAMED = 5
NOTHING_CHANGED = "accepted without any change: its verification passed as it was"


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
    """The first role must work on it again. ``base``: what its work is compared with from now on.

    ``is_fault``: it counts as one of the times that a task may come back. Being merged after another one does not.
    ``is_rejudged``: there is nothing to work on; the last role looks at it once more.
    """

    remark: str
    base: str
    is_fault: bool = True
    is_rejudged: bool = False


def judge_merge(
    merge: MergeResult,
    task: str,
    *,
    target: str,
    is_unchanged: bool,
    is_stopping_now: bool,
    limit: str = "",
    is_late: bool = False,
) -> TaskResult | SentBack:
    """``is_unchanged``: the work has no change of its own. ``is_late``: other work was merged since it was told what to
    build on. A check that a stop or a ``limit`` ended has judged nothing."""
    match merge:
        case Merged(commit):
            reason = NOTHING_CHANGED if is_unchanged else f"merged as {commit[:12]}"
            return TaskResult(task, Outcome.COMPLETED, reason)
        case NotMerged(reason):
            return TaskResult(task, Outcome.WAITING, f"accepted, but not merged: {reason}")
        case Conflict(files, tip):
            conflict = f"merge conflict with {target} in {', '.join(files)}"
            return SentBack(f"{conflict}: resolve it in your worktree and commit the merge", tip, not is_late)
        case Unverified() if is_stopping_now:
            reason = "stopped while its merge was verified"
            return TaskResult(task, Outcome.CANCELLED, reason, is_stopped=True)
        case Unverified() if limit:
            return TaskResult(task, Outcome.EXHAUSTED, f"accepted, but not merged yet: {limit}")
        case Unverified(reason, tip):
            return SentBack(f"after merging with {target}: {reason}", tip, not is_late)


def off_branch(task: Task, branch: str) -> SentBack:
    """The agent has checked out something that does not follow from the branch of its task."""
    remark = f"your worktree has left its branch {branch}: bring your work onto it and check it out"
    return SentBack(remark, task.base_commit)


def compare_with_accepted(task: Task, late: Sequence[str] | None) -> SentBack | None:
    """Only what was judged is merged. ``late``: files that are not as they were accepted, committed since or not; None:
    what was accepted is not known, because an older ralph did not note it or the commit is gone."""
    if late is None:
        remark = "nobody knows any more what exactly was accepted: judge it once more, as it is"
        return SentBack(remark, task.base_commit, is_fault=False, is_rejudged=True)
    if not late:
        return None
    more = f" and {len(late) - MOST_NAMED} more" if len(late) > MOST_NAMED else ""
    remark = (
        f"{', '.join(sorted(late)[:MOST_NAMED])}{more} changed after the work was accepted, so nobody has judged that: "
        "keep it if it belongs to the task, else undo it, and end whatever still writes to files"
    )
    return SentBack(remark, task.base_commit)


def send_back(task: Task, back: SentBack, pipeline: Pipeline) -> Task:
    """Open again, or failed if it came back too often. One that was cancelled in the meantime stays so."""
    if task.status is not TaskStatus.ACCEPTED:
        return task
    stage = pipeline.roles[-1 if back.is_rejudged else 0]
    task = replace(task, stage=stage, accepted_commit="")
    if back.is_fault and task.rejections >= pipeline.max_rejections:
        return replace(task, status=TaskStatus.FAILED, reason=back.remark)
    rejections = task.rejections + back.is_fault
    task = replace(task, rejections=rejections, remarks=(*task.remarks, f"merge: {back.remark}"))
    return replace(task, status=TaskStatus.OPEN, used=0, base_commit=back.base)
