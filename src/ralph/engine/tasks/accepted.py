"""What becomes of accepted work, whichever way it leaves: its worktree is removed, or it goes back to the first role."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.leftovers import kept_words
from ralph.domain.tasks.pipeline import Pipeline, SentBack, send_back
from ralph.domain.tasks.task import Task, TaskStatus, mark_merged
from ralph.domain.tasks.work_result import TaskResult, result_of_run
from ralph.engine.ports import Clock, Publish
from ralph.engine.tasks.ports import TaskQueue, Worktree, Worktrees
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class AcceptedTasks:
    """The tasks of a project whose every role has accepted them."""

    tasks: TaskQueue
    worktrees: Worktrees
    pipeline: Pipeline
    clock: Clock
    publish: Publish

    def note(self, task_id: str, kind: str, text: str) -> None:
        self.tasks.note(task_id, TaskEvent(kind, text, self.clock.now()))

    def send_back(
        self, task: Task, back: SentBack, *, along: Callable[[Task], None] = lambda before: None
    ) -> TaskResult | Task:
        """What became of the task; or the task itself, if it must be worked on again. ``along`` gets the task as it was, and
        is on record together with this, or not at all; one that was cancelled meanwhile is not sent back."""

        def rule(current: Task) -> Task:
            if (after := send_back(current, back, self.pipeline)) != current:
                along(current)
            return after

        now = self.tasks.change(task.id, rule, at=self.clock.now())
        return now if now.status is TaskStatus.OPEN else result_of_run(now, Outcome.FAILED, back.remark)

    async def finish(self, task_id: str, worktree: Worktree, *, merged_into: str, told: str) -> None:
        """It is merged."""
        self.tasks.change(task_id, mark_merged, at=self.clock.now())
        self.note(task_id, "merged", told)
        if why := await self.remove_worktree(task_id, worktree, merged_into=merged_into):
            self.publish(Warned(f"{task_id}: {worktree.path} is kept: {why}"))

    async def remove_worktree(self, task_id: str, worktree: Worktree, *, merged_into: str) -> str:
        """Of merged work; returns why it could not be. The user is told what of it was not merged."""
        removal = await self.worktrees.close(worktree, merged_into=merged_into)
        if removal.kept:
            told = kept_words(task_id, removal.kept, str(removal.place))
            self.publish(Warned(told))
            self.note(task_id, "kept", told)
        return removal.why
