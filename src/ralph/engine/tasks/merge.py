"""Accepted work on its way into the user's branch: merged and done, or back to the first role with a remark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.pipeline import (
    NOTHING_CHANGED,
    Conflict,
    Merged,
    MergeResult,
    NotMerged,
    Pipeline,
    SentBack,
    Unverified,
    compare_with_accepted,
    judge_merge,
    off_branch,
)
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import Clock, Control, Publish
from ralph.engine.shift import ENDLESS, Shift
from ralph.engine.tasks.accepted import AcceptedTasks
from ralph.engine.tasks.ports import Merges, TaskQueue, Verify, Worktree, Worktrees
from ralph.values import dataclass, field


@dataclass(slots=True, kw_only=True)
class TaskMerge:
    """One merge at a time: callers wait for their turn. ``verify`` runs what must pass on the merged tree. ``pull_of``: the pull
    request that a task has already, if it has one: what goes into the base there is not merged here."""

    tasks: TaskQueue
    merges: Merges
    worktrees: Worktrees
    verify: Callable[[Task, Path], Awaitable[str]]
    pipeline: Pipeline
    target: str
    clock: Clock
    control: Control
    publish: Publish
    time_over: TimeOver = no_deadline
    pull_of: Callable[[Task], str] = lambda task: ""
    shift: Shift = ENDLESS
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _made: set[str] = field(default_factory=set, init=False)  # the merges of this run

    async def start(self, task: Task) -> str:
        return self.target

    @property
    def waiting(self) -> int:
        return 0

    @property
    def can_wait(self) -> bool:
        return False

    async def run(self, task: Task, worktree: Worktree) -> TaskResult | Task:
        """What became of the task; or the task itself, if it must be worked on again."""
        if pull := self.pull_of(task):
            why = f"its pull request {pull} is open: `ralph work --deliver pr` follows it"
            return TaskResult(task.id, Outcome.WAITING, f"accepted, but not merged: {why}")
        self.shift.begin_merge()
        async with self._turn:
            if not await self.merges.return_to_branch(worktree):
                return self._send_back(task, off_branch(task, worktree.branch))
            accepted = task.accepted_commit
            late = await self.merges.changed_since(worktree, accepted) if accepted else None
            if (back := compare_with_accepted(task, late)) is not None:
                return self._send_back(task, back)
            is_unchanged = await self.merges.is_unchanged(worktree, accepted)
            merge = await self.merges.merge(
                worktree,
                accepted,
                message=f"Merge {task.id}: {task.title}",
                verify=self._verify_wanted(task),
            )
            judged = judge_merge(
                merge,
                task.id,
                target=self.target,
                is_unchanged=is_unchanged,
                is_stopping_now=self.control.stopping_now,
                limit=self.time_over() or "",
                is_late=self._is_late(task, merge),
            )
            if isinstance(judged, SentBack):
                return self._send_back(task, judged)
            await self._settle(task, worktree, merge)
            if judged.reason == NOTHING_CHANGED:
                self.publish(Warned(f"{task.id}: {NOTHING_CHANGED}"))
            return judged

    def _is_late(self, task: Task, merge: MergeResult) -> bool:
        """Another task was merged first. Only merges of ours count, so an agent cannot be late for ever."""
        if not isinstance(merge, Conflict | Unverified):
            return False
        return merge.target in self._made and merge.target != task.base_commit

    def _verify_wanted(self, task: Task) -> Verify:
        """A task that was cancelled while its merge was verified is not merged."""

        async def verify(path: Path) -> str:
            wrong = await self.verify(task, path)
            is_wanted = self.tasks.get(task.id).status is TaskStatus.ACCEPTED
            return wrong or ("" if is_wanted else "it was cancelled")

        return verify

    async def _settle(self, task: Task, worktree: Worktree, merge: MergeResult) -> None:
        if isinstance(merge, Merged):
            self._made.add(merge.commit)
            self.shift.note_merge(merge.commit)
            told = f"into {self.target} as {merge.commit[:12]}"
            await self._accepted.finish(task.id, worktree, merged_into=self.target, told=told)
        elif isinstance(merge, NotMerged):
            self._accepted.note(task.id, "not merged", merge.reason)

    async def remove_worktree(self, task_id: str, worktree: Worktree) -> str:
        """Of merged work; returns why it could not be."""
        return await self._accepted.remove_worktree(task_id, worktree, merged_into=self.target)

    def _send_back(self, task: Task, back: SentBack) -> TaskResult | Task:
        return self._accepted.send_back(task, back)

    @property
    def _accepted(self) -> AcceptedTasks:
        return AcceptedTasks(self.tasks, self.worktrees, self.pipeline, self.clock, self.publish)
