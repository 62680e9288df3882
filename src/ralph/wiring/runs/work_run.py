"""``ralph work``: ready tasks, each a run of its own in a worktree, merged one after the other (seed 002)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ralph.adapters.control.part_control import PartControl
from ralph.adapters.control.run_control import RunControl
from ralph.adapters.git import Git
from ralph.adapters.processes.identity import started_of, this_process
from ralph.adapters.storage.task_runs import run_to_go_on_with, used_before
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.worktrees import Worktree, Worktrees
from ralph.config.root import Root, git_top
from ralph.config.schema import Settings
from ralph.config.sources import Flag
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import AgentEnded, IterationEnded, LoopEvent, RunEnded, Warned
from ralph.domain.loop.profile import Profile
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult, outcome_of, reason_of
from ralph.domain.views.tasks import TaskFilter
from ralph.engine.loop import RunResult
from ralph.errors import ConfigError, RalphError, StoreError, UsageError
from ralph.wiring.agents import chosen_agents
from ralph.wiring.assembly import drive, open_run
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Launch
from ralph.wiring.profiles import load_profile
from ralph.wiring.requirements import guardrails_of, prices_of, require_settings, require_system
from ralph.wiring.roles import anchor_programs, other_programs, pipeline_of
from ralph.wiring.runs.taking_in import TakingIn
from ralph.wiring.runs.task_run import prepare_task


@dataclass(frozen=True, slots=True)
class WorkComposition:
    """``tasks``: only these; none: whatever is ready."""

    tasks: tuple[str, ...]
    max_parallel: int
    target: str  # the branch that finished work is merged into
    pipeline: Pipeline
    results: list[TaskResult] = field(default_factory=list, compare=False)  # as tasks end

    def arguments(self) -> Mapping[str, object]:
        return {"tasks": list(self.tasks), "maxParallel": self.max_parallel, "target": self.target}

    def describe(self) -> Mapping[str, object]:
        return {"prompt": ", ".join(self.tasks) or "every task that is ready", "target": self.target}

    def warnings(self, launch: Launch) -> Iterator[str]:
        return iter(())

    def commands(self) -> Iterator[str]:
        return iter(())

    async def drive(self, kit: Kit) -> RunResult:
        try:
            target = self.target or await _current_branch(kit)
            known = self._known(kit)
        except RalphError as error:
            kit.end_unbegun(error)
            raise
        return await Working(kit, replace(self, target=target, tasks=known)).run()

    def _known(self, kit: Kit) -> tuple[str, ...]:
        """As the store spells them; raises UsageError for one that is not there."""
        store = TaskStore(kit.database, me=this_process(), started_of=started_of)
        if not self.tasks and not store.count():
            message = "there are no tasks here yet"
            raise UsageError(
                message, hint="make one with `ralph task create`, or many with `ralph task add -f FILE`"
            )
        return tuple(dict.fromkeys(store.get(name).id for name in self.tasks))


async def _current_branch(kit: Kit) -> str:
    git = Git(kit.workspace, kit.outside)
    branch = await git.branch()
    if not branch:
        message = "no branch is checked out here (detached HEAD)"
        raise UsageError(message, hint="check out the branch that finished tasks are to be merged into")
    if not await git.commit_of("HEAD"):
        message = f"branch {branch} has no commit yet"
        raise UsageError(message, hint="make a first commit: each task gets a branch of its own")
    return branch


class Working:
    """One ``ralph work``: starts what is ready, merges what is accepted, and never lets one task stop the others."""

    def __init__(self, kit: Kit, composition: WorkComposition) -> None:
        self._kit = kit
        self._composition = composition
        self._store = TaskStore(kit.database, me=this_process(), started_of=started_of)
        self._worktrees = Worktrees(Git(kit.workspace, kit.outside), kit.launch.state_folder)
        self._taking_in = TakingIn(
            kit, self._store, self._worktrees, composition.pipeline, target=composition.target
        )
        self._merging = asyncio.Lock()
        self._results: dict[str, TaskResult] = {}
        self._begun: set[str] = set()
        self._accepted = [
            task.id
            for task in self._store.list(TaskFilter(statuses=(TaskStatus.ACCEPTED,)))
            if self._is_wanted(task.id)
        ]
        self._spend = kit.state.spend
        self._iterations = kit.state.iteration
        self._concerns: list[str] = []
        self._began = kit.clock.monotonic() - kit.state.seconds
        assert isinstance(kit.control, RunControl)
        self._control = kit.control

    async def run(self) -> RunResult:
        active: dict[asyncio.Task[TaskResult], str] = {}
        limit = ""
        await self._tidy_up()
        try:
            while True:
                stopping = await self._control.checkpoint()
                limit = limit or self._exceeded() or ""
                if not stopping and not limit:
                    self._start_ready(active)
                if not active:
                    break
                done, _ = await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
                for finished in done:
                    name = active.pop(finished)
                    task = self._store.get(name)
                    self._results[name] = replace(
                        finished.result(), iterations=task.iteration, rejections=task.rejections
                    )
                    self._composition.results.append(self._results[name])
                    self._kit.journal.commit(self._state())
        finally:
            for under_way in active:
                under_way.cancel()
            await asyncio.gather(*active, return_exceptions=True)
            for name in self._begun:
                self._store.release(name)
        return self._end(limit)

    def _state(self) -> LoopState:
        seconds = self._kit.clock.monotonic() - self._began
        return replace(self._kit.state, spend=self._spend, iteration=self._iterations).timed(seconds)

    def _exceeded(self) -> str | None:
        """A limit of the whole work is reached: nothing more is begun, no task and no iteration."""
        return self._kit.budget.exceeded(self._state())

    async def _tidy_up(self) -> None:
        """Worktrees of merged tasks that an earlier process could not remove any more."""
        for name in self._worktrees.names():
            task = self._store.find(name)
            if task is not None and task.status is TaskStatus.DONE and task.branch:
                left = Worktree(self._worktrees.place(name), task.branch, task.base_commit)
                await self._worktrees.close(left, merged_into=self._composition.target)

    def _start_ready(self, active: dict[asyncio.Task[TaskResult], str]) -> None:
        while len(active) < self._composition.max_parallel and (name := self._next()) is not None:
            self._begun.add(name)
            active[asyncio.create_task(self._work_on(name), name=name)] = name

    def _next(self) -> str | None:
        """Claimed by us. Accepted ones first: they only wait to be merged."""
        at = self._kit.clock.now()
        while self._accepted:
            name = self._accepted.pop(0)
            if self._store.claim(name, run_id="", at=at):
                return name
        if not self._composition.tasks:
            task = self._store.claim_next(run_id="", at=at)
            return None if task is None else task.id
        for name in self._composition.tasks:
            if name not in self._begun and self._store.claim(name, run_id="", at=at):
                return name
        return None

    async def _work_on(self, name: str) -> TaskResult:
        try:
            return await self._worked(name)
        except RalphError as error:
            self._kit.publish(Warned(f"{name}: {error.message}"))
            return TaskResult(name, Outcome.FAILED, error.message)
        finally:
            # One that could not be worked on stays ours until the end: else it would be ready again at once.
            if self._store.get(name).status is not TaskStatus.OPEN:
                self._store.release(name)

    async def _worked(self, name: str) -> TaskResult:
        task = self._store.get(name)
        worktree = await self._worktrees.open(task.id, start=self._composition.target, base=task.base_commit)
        task = self._changed(
            name, lambda now: replace(now, branch=worktree.branch, base_commit=worktree.base)
        )
        if task.status is TaskStatus.OPEN:
            await self._taking_in.catch_up(worktree)
        while True:
            if task.status is TaskStatus.OPEN:
                result = await self._loop(task, worktree)
                task = self._store.get(name)
                if task.status is not TaskStatus.ACCEPTED:
                    if await self._taking_in.is_in_target(worktree):
                        self._warn(
                            f"{name}: commits that were not accepted are in {self._composition.target}, and ralph did not merge them"
                        )
                    return _of_loop(task, result)
            async with self._merging:
                back = await self._taking_in.take_in(task, worktree)
            if isinstance(back, TaskResult):
                return back
            task, worktree = back, replace(worktree, base=back.base_commit)
            await self._taking_in.catch_up(worktree)
            if self._control.stopping:
                why = "stopped by the user; `ralph work` goes on with it"
                return TaskResult(name, Outcome.CANCELLED, why, is_stopped=True)

    async def _loop(self, task: Task, worktree: Worktree) -> RunResult:
        kit = self._kit
        path = kit.launch.state_folder / "ralph.db"
        resumes = run_to_go_on_with(kit.database, path, task.id)
        launch = prepare_task(
            kit.launch.settings,
            Root(kit.launch.root.state, kit.workspace),
            task,
            worktree,
            self._composition.pipeline,
            parent_id=kit.run_id,
            resumes=resumes,
            watch=kit.meter.watch,
            exceeded=self._exceeded,
            before=used_before(kit.database, path, task.id, besides=resumes),
        )
        control = PartControl(kit.clock, self._control)
        async with open_run(
            launch,
            control,
            [self._listen, *kit.listeners_for(task.id)],
            complain=kit.complain,
        ) as part:
            self._store.claim(task.id, run_id=part.run_id, at=kit.clock.now())
            result = await drive(part)
        self._concerns += [f"{task.id}: {concern}" for concern in result.concerns]
        return result

    def _listen(self, event: LoopEvent, at: float) -> None:
        """The whole pays for its parts, and counts what they count."""
        if isinstance(event, AgentEnded):
            self._spend += event.spend
            self._kit.meter(event, at)
        elif isinstance(event, IterationEnded) and event.decision in ("accept", "continue", "giveup"):
            self._iterations += 1

    def _warn(self, text: str) -> None:
        self._kit.publish(Warned(text))
        self._concerns.append(text)

    def _changed(self, name: str, rule: Callable[[Task], Task]) -> Task:
        return self._store.change(name, rule, at=self._kit.clock.now())

    def _end(self, limit: str) -> RunResult:
        kit = self._kit
        results = tuple(self._results.values())
        left = self._left()
        outcome = outcome_of(results, left=left, is_stopped=self._control.stopping, limit=limit)
        reason = limit or reason_of(results, left=left)
        state = self._state()
        kit.publish(
            RunEnded(
                outcome=outcome,
                reason=reason,
                iterations=self._iterations,
                spend=state.spend,
                seconds=state.seconds,
                concerns=(
                    *(f"{one.task}: {one.reason}" for one in results if one.outcome is not Outcome.COMPLETED),
                    *self._concerns,
                ),
            )
        )
        kit.journal.commit(state)
        return RunResult(outcome, reason, state)

    def _left(self) -> list[str]:
        """What was wanted and is still open: it waits for something that did not get done, or we were stopped."""
        open_ = self._store.list(TaskFilter(statuses=(TaskStatus.OPEN,)))
        return [task.id for task in open_ if self._is_wanted(task.id)]

    def _is_wanted(self, name: str) -> bool:
        return not self._composition.tasks or name in self._composition.tasks


def _of_loop(task: Task, result: RunResult) -> TaskResult:
    """What became of a task whose run did not end with its acceptance."""
    if task.status is TaskStatus.CANCELLED:
        return TaskResult(task.id, Outcome.CANCELLED, task.reason)
    if task.status is TaskStatus.FAILED:
        return TaskResult(task.id, Outcome.FAILED, task.reason)
    is_stopped = result.outcome is Outcome.CANCELLED
    return TaskResult(task.id, result.outcome, result.reason, is_stopped=is_stopped)


def prepare_work(
    settings: Settings,
    root: Root,
    tasks: Sequence[str] = (),
    *,
    max_parallel: int | None = None,
    target: str = "",
    flags: Sequence[Flag] = (),
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written."""
    require_system()
    require_settings(settings)
    settings = anchor_programs(settings, root.workspace)
    if environ.get("RALPH_RUN_ID") and environ.get("RALPH_TASK_ID"):
        message = f"this is inside the work on task {environ['RALPH_TASK_ID']}"
        raise UsageError(
            message, hint="the tasks of a project are worked on by one `ralph work`, from outside"
        )
    if git_top(root.workspace) is None:
        message = f"{root.workspace} is not a git repository"
        raise ConfigError(
            message, hint="run `git init` there and make a first commit: each task gets a branch"
        )
    return Launch(
        profile=load_profile("verified"),
        settings=settings,
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=WorkComposition(
            tuple(tasks),
            max_parallel or settings.profiles.verified.max_parallel,
            target,
            pipeline_of(settings),
        ),
        programs=other_programs(settings, root.workspace, environ=environ),
        maximum=None,
        guardrails=guardrails_of(settings),
        own_prices=prices_of(settings) if settings.prices else {},
        flags=tuple(flags),
        resumes=resumes,
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    settings: Settings,
    root: Root,
    *,
    flags: Sequence[Flag],
    resumes: str,
) -> Launch:
    if isinstance(task := arguments.get("task"), str):
        message = f"run {resumes} was the work on task {task}"
        raise UsageError(message, hint=f"`ralph work {task}` goes on with it")
    tasks, parallel = arguments.get("tasks"), arguments.get("maxParallel")
    if not isinstance(tasks, list) or not isinstance(parallel, int):
        message = f"the request of run {resumes} does not say what it was to work on"
        raise StoreError(message, hint="start again with `ralph work`: it goes on where the tasks are")
    return prepare_work(
        settings,
        root,
        [str(name) for name in tasks],
        max_parallel=parallel,
        target=str(arguments.get("target") or ""),
        flags=flags,
        resumes=resumes,
    )
