"""The scheduler of ``ralph work``: starts what is ready, merges what is accepted, lets no task stop the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import JUDGED, DecisionKind, Outcome
from ralph.domain.loop.events import IterationEnded, LoopEvent, RunEnded, TaskReported, Warned
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task, TaskStatus, can_be_reopened
from ralph.domain.tasks.work_result import (
    TaskResult,
    outcome_of,
    reason_of,
    result_of_earlier,
    result_of_left,
    result_of_run,
    retry_hint,
)
from ralph.engine.loop import RunResult
from ralph.engine.parts import not_known
from ralph.engine.pause import stand_by
from ralph.engine.ports import Clock, Control, Journal, Publish
from ralph.engine.rest import rest
from ralph.engine.shift import ShiftOver
from ralph.engine.tasks.ports import (
    Merges,
    NoSupply,
    OutsideWatch,
    Preparation,
    Supply,
    TaskQueue,
    TaskRuns,
    WayOut,
    Worktree,
    Worktrees,
)
from ralph.errors import RalphError, SetupFailed
from ralph.values import dataclass, field, replace

ACCEPTED_AGAIN = 300.0
"""Seconds until one whose pull request waits for a person is looked at again, by whoever stays."""
MOST_LEFT = 100
"""Tasks that nobody began and that are named one by one at the end; a backlog of thousands would drown the rest."""
LOOK_EVERY = 1.0
"""Seconds between two looks for work, where accepted tasks may wait: one that does makes room for another."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """``wanted``: only these tasks; empty: whatever is ready. ``state``: where an earlier process left this run. ``slots``: as
    many as ``max_parallel``; sessions hold one each, and so does whatever else on the way out uses the machine as they do."""

    tasks: TaskQueue
    watch: OutsideWatch
    worktrees: Worktrees
    preparation: Preparation
    merges: Merges
    merge: WayOut
    runs: TaskRuns
    target: str
    wanted: tuple[str, ...]
    max_parallel: int
    slots: asyncio.Semaphore
    budget: Budget
    state: LoopState
    journal: Journal
    clock: Clock
    control: Control
    publish: Publish
    supply: Supply = field(default_factory=NoSupply)
    tree_change: Callable[[], Awaitable[TreeChange | None]] = not_known

    _results: dict[str, TaskResult] = field(default_factory=dict, init=False)
    _begun: set[str] = field(default_factory=set, init=False)
    _not_now: dict[str, float] = field(default_factory=dict, init=False)  # when to ask for it again
    _spends: dict[str, Spend] = field(default_factory=dict, init=False)  # of each task, with its time
    _accepted: list[str] = field(default_factory=list, init=False)  # by an earlier process; not merged yet
    _concerns: list[str] = field(default_factory=list, init=False)
    _broken: SetupFailed | None = field(default=None, init=False)  # no worktree can be set up
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock.monotonic() - self.state.seconds

    async def run(self) -> RunResult:
        active: dict[asyncio.Task[TaskResult], str] = {}
        limit = ""
        self._accepted = [task.id for task in self._wanted_in(TaskStatus.ACCEPTED)]
        await self.merges.prepare()
        await self._remove_merged_worktrees()
        looking_after = asyncio.create_task(self.supply.look_after())
        try:
            while True:
                stays = self.supply.stays and not looking_after.done()  # else nothing would ever come
                stopping = await stand_by(self.control, self._exceeded)
                limit = limit or self._exceeded() or ""
                self._concerns += self.watch.look(tuple(active.values()))
                if not stopping and self._broken is None:
                    self._ask_again()
                    self._start_ready(active, only_merges=bool(limit))
                more = stays or bool(self._not_now)  # may come
                if not active and (stopping or limit or self._broken is not None or not more):
                    break
                if not active:
                    await rest(LOOK_EVERY, clock=self.clock, control=self.control)
                    continue
                again = LOOK_EVERY if self.merge.can_wait or more else None
                done, _ = await asyncio.wait(active, timeout=again, return_when=asyncio.FIRST_COMPLETED)
                for finished in done:
                    self._take_result(active.pop(finished), finished.result())
        except ShiftOver:
            self.journal.commit(self._now())
            raise
        finally:
            for under_way in (*active, looking_after):
                under_way.cancel()
            *_, ended = await asyncio.gather(*active, looking_after, return_exceptions=True)
            if isinstance(ended, Exception):
                self._concerns.append(f"tickets were not looked after to the end: {_spell(ended)}")
            for name in self._begun:
                self.tasks.release(name)
            await self.merges.finish()
        self._concerns += await self.supply.close()
        return await self._end(limit)

    # --- which task is next ---

    def _start_ready(self, active: dict[asyncio.Task[TaskResult], str], *, only_merges: bool) -> None:
        while (
            len(active) - self.merge.waiting < self.max_parallel
            and (name := self._claim_next(only_merges)) is not None
        ):
            self._begun.add(name)
            active[asyncio.create_task(self._work_on(name), name=name)] = name

    def _ask_again(self) -> None:
        """Whoever worked on it may have stood back, or may be gone; and its pull request may have been merged."""
        now = self.clock.monotonic()
        for name in [name for name, at in self._not_now.items() if at <= now]:
            del self._not_now[name]
            task = self.tasks.find(name)  # its user may have removed it
            if task is not None and task.status is TaskStatus.ACCEPTED:
                self._accepted.append(name)
            else:
                self._begun.discard(name)
                self.tasks.release(name)

    def _claim_next(self, only_merges: bool) -> str | None:
        """Accepted ones first: they only wait to be merged, which uses up no limit."""
        at = self.clock.now()
        while self._accepted:
            name = self._accepted.pop(0)
            if self.tasks.claim(name, run_id="", at=at):
                return name
        if only_merges:
            return None
        if not self.wanted:
            task = self.tasks.claim_next(run_id="", at=at)
            return None if task is None else task.id
        for name in self.wanted:
            if name not in self._begun and self.tasks.claim(name, run_id="", at=at):
                return name
        return None

    def _wanted_in(self, status: TaskStatus) -> list[Task]:
        return [task for task in self.tasks.in_status(status) if not self.wanted or task.id in self.wanted]

    async def _remove_merged_worktrees(self) -> None:
        """Those of merged tasks that an earlier process could not remove."""
        for name in await self.worktrees.names():
            task = self.tasks.find(name)
            if task is not None and task.status is TaskStatus.DONE and task.branch:
                left = Worktree(self.worktrees.place(name), task.branch, task.base_commit)
                await self.merge.remove_worktree(name, left)

    # --- one task ---

    async def _work_on(self, name: str) -> TaskResult:
        try:
            return await self._run_until_merged(name)
        except SetupFailed as error:
            self._broken = self._broken or error
            return TaskResult(name, Outcome.WAITING, "a worktree could not be set up")
        except RalphError as error:
            self.publish(Warned(f"{name}: {error.message}"))
            return TaskResult(name, Outcome.FAILED, error.message)
        finally:
            # One that could not be worked on stays ours until the end: else it would be ready again at once.
            if self.tasks.get(name).status is not TaskStatus.OPEN:
                self.tasks.release(name)

    async def _run_until_merged(self, name: str) -> TaskResult:
        task = self.tasks.get(name)
        if (refused := await self.supply.take(task)) is not None:
            return self._leave(name, refused)
        task = self.tasks.get(name)  # it may have new words, or its user has cancelled it
        if task.status not in (TaskStatus.OPEN, TaskStatus.ACCEPTED):
            return result_of_run(task, Outcome.CANCELLED, task.reason)
        start = await self.merge.start(task)
        worktree = await self.worktrees.open(task.id, start=start, base=task.base_commit)
        if task.status is TaskStatus.OPEN:
            await self.preparation.prepare(worktree)
        task = self.tasks.change(
            name,
            lambda now: replace(now, branch=worktree.branch, base_commit=worktree.base),
            at=self.clock.now(),
        )
        if task.status is TaskStatus.OPEN:
            await self._catch_up(worktree)
        while True:
            if task.status is TaskStatus.OPEN:
                if self.control.stopping:
                    why = "stopped by the user; `ralph work` resumes it"
                    return TaskResult(name, Outcome.CANCELLED, why, is_stopped=True)
                result = await self._run(task, worktree)
                task = self.tasks.get(name)
                if task.status is not TaskStatus.ACCEPTED:
                    await self._warn_if_merged_by_others(name, worktree)
                    return result_of_run(task, result.outcome, result.reason)
            elif task.status is not TaskStatus.ACCEPTED:  # cancelled while its worktree was set up
                return result_of_run(task, Outcome.CANCELLED, task.reason)
            merged = await self.merge.run(task, worktree)
            if isinstance(merged, TaskResult):
                return merged
            task, worktree = merged, replace(worktree, base=merged.base_commit)
            await self._catch_up(worktree)

    def _leave(self, name: str, refused: NotOurs) -> TaskResult:
        """Someone else works on it, or nobody is to. One that was cancelled for that has a result of its own."""
        task = self.tasks.get(name)
        if task.status is TaskStatus.CANCELLED:
            return result_of_run(task, Outcome.CANCELLED, refused.reason)
        if refused.again is not None:
            self._not_now[name] = self.clock.monotonic() + refused.again
        return TaskResult(name, Outcome.WAITING, refused.reason, is_begun=False)

    async def _catch_up(self, worktree: Worktree) -> None:
        await self.merges.catch_up(worktree)
        await self.preparation.prepare(worktree)

    async def _run(self, task: Task, worktree: Worktree) -> RunResult:
        async with self.slots:  # while one waited or came back, others may have taken its place
            result = await self.runs.run(
                task, worktree, exceeded=self._exceeded, listen=self._listen, spent=self._spent
            )
        self._concerns += [f"{task.id}: {concern}" for concern in result.concerns]
        spend = replace(result.state.spend, seconds=result.state.seconds)
        self._spends[task.id] = self._spends.get(task.id, Spend()) + spend
        return result

    async def _warn_if_merged_by_others(self, name: str, worktree: Worktree) -> None:
        told = [await self.merges.moved_by_others()]
        if await self.merges.is_in_target(worktree):
            told.append(f"commits that were not accepted are in {self.target}, and ralph did not merge them")
        for warning in (f"{name}: {one}" for one in told if one):
            self.publish(Warned(warning))
            self._concerns.append(warning)

    # --- the whole ---

    def _listen(self, event: LoopEvent, at: float) -> None:
        """The whole counts what its parts count."""
        if isinstance(event, IterationEnded) and event.decision in JUDGED:
            denied = self.state.denied + (event.claimed and event.decision == DecisionKind.CONTINUE)
            self.state = replace(self.state, iteration=self.state.iteration + 1, denied=denied)

    def _spent(self, more: Spend) -> LoopState:
        """And it pays for them."""
        self.state = self.state.spending(more)
        return self._now()

    def _now(self) -> LoopState:
        return self.state.timed(self.clock.monotonic() - self._began)

    def _exceeded(self) -> str | None:
        """A limit of the whole work is reached: nothing more is begun, no task and no iteration."""
        return self.budget.exceeded(self._now())

    def _take_result(self, name: str, result: TaskResult) -> None:
        self.watch.settled(name)
        is_news = self._results.get(name) != result
        self._results[name] = result
        task = self.tasks.find(name)  # one that is not worked on any more may have been removed
        if task is not None and task.status is TaskStatus.ACCEPTED and self.supply.stays:
            self._not_now[name] = self.clock.monotonic() + ACCEPTED_AGAIN
        if task is not None and is_news:
            self._report(result)
        self.journal.commit(self._now())

    def _report(self, result: TaskResult) -> None:
        task = self.tasks.get(result.task)
        spend = self._spends.get(task.id, self._whole if self._is_single else Spend())
        self.publish(
            TaskReported(
                task=task.id,
                title=task.title,
                outcome=result.outcome,
                result=result.word,
                reason=result.reason,
                iterations=task.iteration,
                rejections=task.rejections,
                spend=spend,
                seconds=spend.seconds,
                is_begun=result.is_begun,
            )
        )

    @property
    def _is_single(self) -> bool:
        """It was asked for one task: what the whole has used, that task has, also in earlier processes."""
        return len(self.wanted) == 1 and not self.supply.stays

    @property
    def _whole(self) -> Spend:
        now = self._now()
        return replace(now.spend, seconds=now.seconds)

    async def _end(self, limit: str) -> RunResult:
        """What is still open waits for something that was not done, or was left by a stop or a limit."""
        self._take_earlier()
        self._take_withdrawn()
        results = tuple(self._results.values())
        accepted = [task for task in self._wanted_in(TaskStatus.ACCEPTED) if task.id not in self._results]
        found = {task.id: task for task in (*self._wanted_in(TaskStatus.OPEN), *accepted)}
        left = list(found)
        outcome = outcome_of(
            results, left=left, is_stopped=self.control.stopping, limit=limit, stays=self.supply.stays
        )
        ended_by = limit or ("stopped by the user" if self.control.stopping else "")
        not_begun = [self._left(task, ended_by) for name, task in found.items() if name not in self._results]
        for one in not_begun[:MOST_LEFT]:
            self._report(one)
        why = reason_of(results, left=not_begun, is_single=self._is_single)
        reason = limit if limit and outcome is Outcome.EXHAUSTED else why
        unfinished = [one for one in results if one.outcome is not Outcome.COMPLETED]
        unfinished += [one for one in not_begun[:MOST_LEFT] if one.reason != ended_by]
        hint = retry_hint(self._over(found))
        if (broken := self._broken) is not None:
            outcome, reason, hint = Outcome.FAILED, broken.message, broken.hint
            self._concerns += broken.said
        state = self._now()
        self.publish(
            RunEnded(
                outcome=outcome,
                reason=reason,
                iterations=state.iteration,
                spend=state.spend,
                seconds=state.seconds,
                concerns=(*(f"{one.task}: {one.reason}" for one in unfinished), *self._concerns),
                hint=hint,
                denied=state.denied,
                tree=await self.tree_change(),
            )
        )
        self.journal.commit(state)
        return RunResult(outcome, reason, state, hint)

    def _take_earlier(self) -> None:
        """What failed before is not done, and nobody works on it; of what was cancelled, only what was asked for by name."""
        names = self.wanted or [task.id for task in self.tasks.in_status(TaskStatus.FAILED)]
        for name in names:
            task = self.tasks.find(name) if name not in self._results else None  # or its user has removed it
            if task is not None and (result := result_of_earlier(task)) is not None:
                self._take_result(name, result)

    def _take_withdrawn(self) -> None:
        """What waited, and was cancelled since: a task has one result, which is its last."""
        for name, result in tuple(self._results.items()):
            task = self.tasks.find(name) if result.outcome is Outcome.WAITING else None
            if task is not None and task.status is TaskStatus.CANCELLED:
                self._take_result(name, result_of_run(task, Outcome.CANCELLED, task.reason))

    def _left(self, task: Task, ended_by: str) -> TaskResult:
        needs = [need for need in map(self.tasks.find, task.dependencies) if need is not None]
        unfinished = [need for need in needs if need.status is not TaskStatus.DONE]
        return result_of_left(task, unfinished, ended_by=ended_by)

    def _over(self, left: Mapping[str, Task]) -> list[Task]:
        """What is over and not done, among the results and among what the rest waits for, directly or not. What the user
        cancelled is not missed, unless it was asked for by name."""
        missed = [
            name
            for name, result in self._results.items()
            if name in self.wanted or result.outcome is not Outcome.CANCELLED
        ]
        names = dict.fromkeys((*missed, *left))
        waiting = list(names)
        found: list[Task] = []
        while waiting:
            name = waiting.pop()
            task = left.get(name) or self.tasks.find(name)
            found += [task] if task is not None else []
            new = [need for need in task.dependencies if need not in names] if task is not None else []
            names.update(dict.fromkeys(new))
            waiting += new
        order = {name: place for place, name in enumerate(names)}
        over = [task for task in found if can_be_reopened(task)]
        return sorted(over, key=lambda task: order.get(task.id, len(order)))


def _spell(error: Exception) -> str:
    return error.message if isinstance(error, RalphError) else f"{type(error).__name__}: {error}"
