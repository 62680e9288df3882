"""Accepted work on its way through a pull request: merged there and done, waiting, or back to the first role with a remark."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ralph.domain.delivery.patience import Patience
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Waiting
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import Warned
from ralph.domain.tasks.pipeline import Pipeline, SentBack, compare_with_accepted, off_branch
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult, result_of_run
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import Clock, Control, Publish
from ralph.engine.rest import rest
from ralph.engine.tasks.accepted import AcceptedTasks
from ralph.engine.tasks.ports import Judged, JudgeOnce, Merges, Shipment, TaskQueue, Worktree, Worktrees
from ralph.values import dataclass, field

READY = "ready"
LATER = "`ralph work` continues"
NOT_WANTED = "it was cancelled while it was verified"
STOPPED = "stopped while it was verified"


@dataclass(slots=True, kw_only=True)
class TaskShip:
    """Takes the place of the merge into the user's branch. ``shipment`` gives the way out for a task and its worktree;
    ``first_commit`` the commit that its work begins with; ``taken`` what the forge has of a task that is done. ``patience``:
    seconds without a change for which CI is waited for. ``slots``: of the worker; a verification holds one, a look does not:
    else no pull request would be looked at while sessions take all of them."""

    tasks: TaskQueue
    merges: Merges
    worktrees: Worktrees
    shipment: Callable[[Task, Worktree, JudgeOnce], Shipment]
    first_commit: Callable[[Task], Awaitable[str]]
    taken: Callable[[str, Worktree], str]
    pipeline: Pipeline
    slots: asyncio.Semaphore
    clock: Clock
    control: Control
    publish: Publish
    patience: float
    time_over: TimeOver = no_deadline
    _under_way: set[str] = field(default_factory=set, init=False)
    _waiting: set[str] = field(default_factory=set, init=False)

    async def start(self, task: Task) -> str:
        return await self.first_commit(task)

    @property
    def under_way(self) -> int:
        """Tasks whose pull requests this process looks after."""
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def can_wait(self) -> bool:
        return True

    async def run(self, task: Task, worktree: Worktree) -> TaskResult | Task:
        """What became of the task; or the task itself, if it must be worked on again."""
        if not await self.merges.return_to_branch(worktree):
            return self._accepted.send_back(task, off_branch(task, worktree.branch))
        shipment = self.shipment(task, worktree, partial(self._judge, task))
        # A killed process may have merged the base: only then is it known what was accepted.
        await shipment.take_up()
        if (over := self._unwanted(task)) is not None:
            return over
        task = self.tasks.get(task.id)
        if (back := await self._compare(task, worktree, shipment)) is not None:
            return self._accepted.send_back(task, back)
        shipment.accept(task.accepted_commit)
        with _counted(self._under_way, task.id):
            return await self._follow(task, worktree, shipment)

    async def _compare(self, task: Task, worktree: Worktree, shipment: Shipment) -> SentBack | None:
        """Only what was judged is pushed. Conflicts that ralph left there when it was killed are nobody's late work."""
        accepted = task.accepted_commit
        if accepted and await shipment.is_merging(accepted):
            return None
        late = await self.merges.changed_since(worktree, accepted) if accepted else None
        return compare_with_accepted(task, late)

    async def _follow(self, task: Task, worktree: Worktree, shipment: Shipment) -> TaskResult | Task:
        patience, is_second = Patience(self.patience), False
        while True:
            if (over := self._unwanted(task)) is not None:
                return over
            progress = await shipment.advance()
            if isinstance(progress, Waiting):
                if (over := await self._wait(task, progress, patience)) is not None:
                    return over
                continue
            if (
                not is_second
                and isinstance(progress, Ended)
                and await self._is_left(task, shipment, progress)
            ):
                is_second = True
                told = f"{progress.reason}, without what was accepted since: that gets another pull request"
                self.publish(Warned(f"{task.id}: {told}"))
                shipment.begin_again()
                continue
            return await self._settle(task, worktree, shipment, progress)

    async def _is_left(self, task: Task, shipment: Shipment, ended: Ended) -> bool:
        """Someone merged it while the task was worked on: what was accepted since is not in it."""
        return ended.is_merged and not await shipment.taken(self._commit(task), ended)

    async def _settle(
        self, task: Task, worktree: Worktree, shipment: Shipment, progress: Fixing | Asking | Ended
    ) -> TaskResult | Task:
        match progress:
            case Fixing(reason, base=base, is_fault=is_fault):
                back = SentBack(f"pull request: {reason}", base or task.base_commit, is_fault)
                return self._accepted.send_back(
                    task, back, along=lambda before: shipment.hand_over(progress, tip=before.accepted_commit)
                )
            case Asking(reason, hint):
                return self._waits(task, f"{reason}; {hint}" if hint else reason)
            case Ended(is_merged=True):
                return await self._finish(task, worktree, shipment, progress)
            case Ended(reason, is_good=True):
                self._accepted.note(task.id, READY, reason)
                return TaskResult(task.id, Outcome.COMPLETED, reason, own_word=READY)
            case Ended(reason):
                return self._waits(task, f"its pull request was {reason}")

    async def _finish(self, task: Task, worktree: Worktree, shipment: Shipment, ended: Ended) -> TaskResult:
        """Done is only what the forge has: the worktree, and with it the only copy, is removed then."""
        commit = self._commit(task)
        if not (taken := await shipment.taken(commit, ended)):
            left = f"{commit[:12]}, which was accepted, is not in it; {worktree.branch} here has it"
            return self._waits(task, f"its pull request is over ({ended.reason}), but {left}")
        await self._accepted.finish(task.id, worktree, merged_into=taken, told=ended.reason)
        return TaskResult(task.id, Outcome.COMPLETED, ended.reason)

    async def remove_worktree(self, task_id: str, worktree: Worktree) -> str:
        """Of a task that is done. What the forge does not have stays."""
        merged_into = self.taken(task_id, worktree)
        return await self._accepted.remove_worktree(task_id, worktree, merged_into=merged_into)

    @property
    def _accepted(self) -> AcceptedTasks:
        return AcceptedTasks(self.tasks, self.worktrees, self.pipeline, self.clock, self.publish)

    def _commit(self, task: Task) -> str:
        """What is accepted now: the delivery may have merged the base into it."""
        return self.tasks.get(task.id).accepted_commit

    def _waits(self, task: Task, reason: str) -> TaskResult:
        self._accepted.note(task.id, "not merged", reason)
        return TaskResult(task.id, Outcome.WAITING, f"accepted, but not merged: {reason}")

    # --- verifying ---

    async def _judge(self, task: Task, verify: Callable[[], Awaitable[str]]) -> Judged:
        """A verification that a stop or a limit ended has judged nothing; and what was cancelled meanwhile is not pushed."""
        async with self.slots:
            wrong = await verify() if self._is_wanted(task) else ""
        if not self._is_wanted(task):
            return Judged(NOT_WANTED, is_cut=True)
        if wrong and self.control.stopping_now:
            return Judged(STOPPED, is_cut=True)
        if wrong and (limit := self.time_over()):
            return Judged(limit, is_cut=True)
        return Judged(wrong)

    def _is_wanted(self, task: Task) -> bool:
        return self.tasks.get(task.id).status is TaskStatus.ACCEPTED

    def _unwanted(self, task: Task) -> TaskResult | None:
        now = self.tasks.get(task.id)
        return None if self._is_wanted(task) else result_of_run(now, Outcome.CANCELLED, now.reason)

    # --- waiting ---

    async def _wait(self, task: Task, waiting: Waiting, patience: Patience) -> TaskResult | None:
        """None: it is time for another look."""
        left = patience.left(self.clock.monotonic(), waiting.seen)
        if (over := self._ended(task, waiting.reason)) is not None or self._unwanted(task) is not None:
            return over
        if waiting.for_people or left <= 0:
            return self._waits(task, waiting.reason)
        with _counted(self._waiting, task.id):
            await rest(
                min(waiting.seconds, left), clock=self.clock, control=self.control, is_over=self.time_over
            )
        return self._ended(task, waiting.reason)

    def _ended(self, task: Task, reason: str) -> TaskResult | None:
        """By a stop, or by a limit of the whole work. The task stays accepted."""
        if self.control.stopping:
            why = f"accepted, but not merged yet: {reason}; {LATER}"
            return TaskResult(task.id, Outcome.CANCELLED, why, is_stopped=True)
        if limit := self.time_over():
            return TaskResult(task.id, Outcome.EXHAUSTED, f"accepted, but not merged yet: {limit}")
        return None


@contextmanager
def _counted(names: set[str], name: str) -> Iterator[None]:
    names.add(name)
    try:
        yield
    finally:
        names.discard(name)
