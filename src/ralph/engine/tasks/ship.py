"""Accepted work on its way through a pull request: merged there and done, waiting, or back to the first role with a remark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ralph.domain.delivery.progress import Asking, Ended, Fixing, Waiting
from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.pipeline import Pipeline, SentBack, compare_with_accepted, off_branch
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult, result_of_run
from ralph.engine.ports import Clock, Control, Publish
from ralph.engine.tasks.accepted import AcceptedTasks
from ralph.engine.tasks.ports import Merges, Shipment, TaskQueue, Worktree, Worktrees

READY = "ready"
LATER = "`ralph work` continues"


@dataclass(slots=True, kw_only=True)
class TaskShip:
    """Takes the place of the merge into the user's branch. ``shipment`` gives the way out for a task and its worktree;
    ``first_commit`` the commit that its work begins with. ``patience``: seconds without a change for which CI is waited for."""

    tasks: TaskQueue
    merges: Merges
    worktrees: Worktrees
    shipment: Callable[[Task, Worktree], Shipment]
    first_commit: Callable[[Task], Awaitable[str]]
    pipeline: Pipeline
    clock: Clock
    control: Control
    publish: Publish
    patience: float
    _waiting: set[str] = field(default_factory=set, init=False)

    async def start(self, task: Task) -> str:
        return await self.first_commit(task)

    @property
    def waiting(self) -> int:
        """Tasks that wait for CI: others may be worked on meanwhile."""
        return len(self._waiting)

    async def run(self, task: Task, worktree: Worktree) -> TaskResult | Task:
        """What became of the task; or the task itself, if it must be worked on again."""
        if not await self.merges.return_to_branch(worktree):
            return self._accepted.send_back(task, off_branch(task, worktree.branch))
        accepted = task.accepted_commit
        late = await self.merges.changed_since(worktree, accepted) if accepted else None
        if (back := compare_with_accepted(task, late)) is not None:
            return self._accepted.send_back(task, back)
        shipment = self.shipment(task, worktree)
        self._waiting.add(task.id)
        try:
            return await self._follow(task, worktree, shipment)
        finally:
            self._waiting.discard(task.id)

    async def _follow(self, task: Task, worktree: Worktree, shipment: Shipment) -> TaskResult | Task:
        reason, since = "", self.clock.monotonic()
        while True:
            if (over := self._cancelled(task)) is not None:
                return over
            progress = await shipment.advance()
            if not isinstance(progress, Waiting):
                return await self._settle(task, worktree, shipment, progress)
            now = self.clock.monotonic()
            if progress.reason != reason:
                reason, since = progress.reason, now
            if progress.for_people or now - since >= self.patience:
                return self._waits(task, reason)
            if not await self._wait(progress.seconds):
                why = f"accepted; its pull request {reason}; {LATER}"
                return TaskResult(task.id, Outcome.CANCELLED, why, is_stopped=True)

    def _cancelled(self, task: Task) -> TaskResult | None:
        now = self.tasks.get(task.id)
        if now.status is TaskStatus.ACCEPTED:
            return None
        return result_of_run(now, Outcome.CANCELLED, now.reason)

    async def _settle(
        self, task: Task, worktree: Worktree, shipment: Shipment, progress: Fixing | Asking | Ended
    ) -> TaskResult | Task:
        match progress:
            case Fixing(reason, base=base, is_fault=is_fault):
                shipment.hand_over(progress)
                back = SentBack(f"pull request: {reason}", base or task.base_commit, is_fault)
                return self._accepted.send_back(task, back)
            case Asking(reason, hint):
                return self._waits(task, f"{reason}; {hint}" if hint else reason)
            case Ended(reason, is_merged=True):
                await self._accepted.finish(task.id, worktree, merged_into=shipment.pushed, told=reason)
                return TaskResult(task.id, Outcome.COMPLETED, reason)
            case Ended(reason, is_good=True):
                self._accepted.note(task.id, READY, reason)
                return TaskResult(task.id, Outcome.COMPLETED, reason, own_word=READY)
            case Ended(reason):
                return self._waits(task, f"its pull request was {reason}")

    async def remove_worktree(self, task_id: str, worktree: Worktree) -> str:
        """Of a task that is done: the forge has taken what its branch has."""
        return await self._accepted.remove_worktree(task_id, worktree, merged_into=worktree.branch)

    @property
    def _accepted(self) -> AcceptedTasks:
        return AcceptedTasks(self.tasks, self.worktrees, self.pipeline, self.clock, self.publish)

    def _waits(self, task: Task, reason: str) -> TaskResult:
        self._accepted.note(task.id, "not merged", reason)
        return TaskResult(task.id, Outcome.WAITING, f"accepted, but not merged: {reason}")

    async def _wait(self, seconds: float) -> bool:
        """False: a stop was requested."""
        stop = asyncio.ensure_future(self.control.stop_requested())
        sleep = asyncio.ensure_future(self.clock.sleep(seconds))
        try:
            await asyncio.wait({stop, sleep}, return_when=asyncio.FIRST_COMPLETED)
            return not stop.done()
        finally:
            stop.cancel()
            sleep.cancel()
