"""A project in memory for the worker and its merges: tasks, worktrees, a target branch, and runs that a test scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import IterationEnded, LoopEvent, RunEnded, TaskReported, Warned
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.history import TaskEvent
from ralph.domain.tasks.pipeline import Merged, MergeResult, Pipeline, Unverified
from ralph.domain.tasks.task import Task, TaskStatus, count_iteration
from ralph.engine.loop import RunResult
from ralph.engine.recording import Listener
from ralph.engine.short_shift import ShortShift
from ralph.engine.stop_token import StopToken
from ralph.engine.tasks.merge import TaskMerge
from ralph.engine.tasks.ports import NoSupply, Removal, Supply, Verify, WayOut, Worktree
from ralph.engine.tasks.worker import Worker
from ralph.errors import GitFailed, SetupFailed, UsageError
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal

BASE = "b" * 40
JUDGED = "a" * 40
"""The commit that the last role of a task has accepted."""
PIPELINE = Pipeline(roles=("coder", "qa"), max_rejections=2, finished=TaskStatus.ACCEPTED)


TURNS = 1_000_000


async def wait_until(condition: Callable[[], object]) -> None:
    """Let others have their turn until it is so; the clock of the test moves only with them."""
    for _ in range(TURNS):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"not so after {TURNS} turns")


class Tasks:
    """A task is ready when everything it depends on is done and nobody works on it."""

    def __init__(self, tasks: Sequence[Task], *, claimed_by_others: Sequence[str] = ()) -> None:
        self.all = {task.id: task for task in tasks}
        self.others = set(claimed_by_others)
        self.claimed: set[str] = set()
        self.notes: list[tuple[str, str, str]] = []

    def find(self, task_id: str) -> Task | None:
        return self.all.get(task_id)

    def get(self, task_id: str) -> Task:
        if task_id not in self.all:
            message = f"there is no task {task_id}"
            raise UsageError(message)
        return self.all[task_id]

    def in_status(self, status: TaskStatus) -> Sequence[Task]:
        return [task for task in self.all.values() if task.status is status]

    def claim(self, task_id: str, *, run_id: str, at: float) -> bool:
        task = self.find(task_id)
        if task is None:  # its user has removed it
            return False
        if task_id in self.others or task.status not in (TaskStatus.OPEN, TaskStatus.ACCEPTED):
            return False
        if any(self.get(name).status is not TaskStatus.DONE for name in task.dependencies):
            return False
        self.claimed.add(task_id)
        return True

    def claim_next(self, *, run_id: str, at: float) -> Task | None:
        for task in self.in_status(TaskStatus.OPEN):
            if task.id not in self.claimed and self.claim(task.id, run_id=run_id, at=at):
                return task
        return None

    def release(self, task_id: str) -> None:
        self.claimed.discard(task_id)

    def change(self, task_id: str, rule: Callable[[Task], Task], *, at: float) -> Task:
        self.all[task_id] = rule(self.get(task_id))
        return self.all[task_id]

    def note(self, task_id: str, event: TaskEvent) -> None:
        self.notes.append((task_id, event.kind, event.text))


class Unwatched:
    """Nobody else is there."""

    def look(self, own: Collection[str]) -> Sequence[str]:
        return ()

    def settled(self, task_id: str) -> None: ...


@dataclass
class Trees:
    """``broken``: tasks whose worktree cannot be made."""

    there: dict[str, Worktree] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    closed: list[str] = field(default_factory=list)
    merged_into: list[str] = field(default_factory=list)  # what each that was closed was compared with
    removals: dict[str, Removal] = field(default_factory=dict)

    async def names(self) -> list[str]:
        return sorted(self.there)

    def place(self, name: str) -> Path:
        return Path("/worktrees", name)

    async def open(self, name: str, *, start: str, base: str = "") -> Worktree:
        if name in self.broken:
            message = "no space left on device"
            raise GitFailed(message)
        return self.there.setdefault(name, Worktree(self.place(name), f"ralph/{name}", base or BASE))

    async def close(self, worktree: Worktree, *, merged_into: str) -> Removal:
        self.closed.append(worktree.path.name)
        self.merged_into.append(merged_into)
        return self.removals.get(worktree.path.name, Removal(is_removed=True))


@dataclass
class Branch:
    """The target. ``answers``: what merging a task gives, one after the other; then it is merged."""

    answers: dict[str, list[MergeResult]] = field(default_factory=dict)
    off_branch: set[str] = field(default_factory=set)
    unchanged: set[str] = field(default_factory=set)
    late: dict[str, list[str]] = field(default_factory=dict)  # what was written after a task was accepted
    foreign: set[str] = field(default_factory=set)  # tasks whose commits somebody else merged
    merged: list[str] = field(default_factory=list)
    caught_up: list[tuple[str, str]] = field(default_factory=list)
    under_way: int = 0
    most: int = 0
    moved: str = ""
    left: bool = False

    async def prepare(self) -> None: ...

    async def finish(self) -> None:
        self.left = True

    async def moved_by_others(self) -> str:
        return self.moved

    async def return_to_branch(self, worktree: Worktree) -> bool:
        return worktree.path.name not in self.off_branch

    async def changed_since(self, worktree: Worktree, commit: str) -> Sequence[str] | None:
        return self.late.get(worktree.path.name, ()) if commit == JUDGED else None

    async def is_unchanged(self, worktree: Worktree, commit: str) -> bool:
        return worktree.path.name in self.unchanged

    async def merge(self, worktree: Worktree, commit: str, *, message: str, verify: Verify) -> MergeResult:
        name = worktree.path.name
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.answers.get(name):
                return self.answers[name].pop(0)
            if wrong := await verify(Path("/integration")):
                return Unverified(wrong, "t" * 40)
            self.merged.append(name)
            return Merged("c" * 40)
        finally:
            self.under_way -= 1

    async def catch_up(self, worktree: Worktree) -> None:
        self.caught_up.append((worktree.path.name, worktree.base))

    async def is_in_target(self, worktree: Worktree) -> bool:
        return worktree.path.name in self.foreign


Script = Callable[["World", Task], Awaitable[Outcome | None]]
"""What the run of a task does; None: every role accepts it."""


async def accepts(world: World, task: Task) -> None:
    """The usual run: one iteration of the agent, and the task is accepted."""


@dataclass
class Runs:
    """Runs as the scripts say; remembers which there were, and how many at once."""

    world: World
    scripts: dict[str, Script]
    began: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def run(
        self,
        task: Task,
        worktree: Worktree,
        *,
        exceeded: Callable[[], str | None],
        listen: Listener,
        spent: Callable[[Spend], LoopState],
    ) -> RunResult:
        self.began.append(task.id)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            outcome = await self.scripts.get(task.id, accepts)(self.world, task)
        finally:
            self.under_way -= 1
        spent(Spend(cost_usd=1.0))
        if outcome is not None:
            return RunResult(outcome, "as the script says", LoopState(spend=Spend(cost_usd=1.0)))
        listen(IterationEnded(1, 1, "accept", "", claimed=True, proven=True, spend=Spend(), seconds=1.0), 0.0)
        self.world.tasks.change(
            task.id,
            lambda now: replace(
                count_iteration(now, "coder"), status=TaskStatus.ACCEPTED, accepted_commit=JUDGED
            ),
            at=0.0,
        )
        return RunResult(Outcome.COMPLETED, "accepted", LoopState(spend=Spend(cost_usd=1.0)))


class Setups:
    """``broken``: the worktrees that cannot be set up."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    async def prepare(self, worktree: Worktree) -> str | None:
        await asyncio.sleep(0)
        if worktree.path.name in self.broken:
            raise SetupFailed("`npm ci` failed", hint="fix it", said=("no such package",))
        return None


class World:
    """Made inside a running event loop."""

    def __init__(
        self, *tasks: Task, claimed_by_others: Sequence[str] = (), scripts: dict[str, Script] | None = None
    ) -> None:
        self.tasks = Tasks(tasks, claimed_by_others=claimed_by_others)
        self.trees = Trees()
        self.setups = Setups()
        self.branch = Branch()
        self.runs = Runs(self, scripts or {})
        self.control = StopToken()
        self.clock = FakeClock()
        self.journal = MemoryJournal()
        self.events: list[LoopEvent] = []
        self.reported: list[TaskReported] = []
        self.has_reported = asyncio.Event()
        self.shift = ShortShift(sessions=0, longest_wait=0.0, may_merge=True)
        self.wrong: Callable[[Task], str] = lambda task: ""  # what the check of a merged tree finds

    def merge(self) -> TaskMerge:
        async def verify(task: Task, path: Path) -> str:
            return self.wrong(task)

        return TaskMerge(
            tasks=self.tasks,
            merges=self.branch,
            worktrees=self.trees,
            verify=verify,
            pipeline=PIPELINE,
            target="main",
            clock=self.clock,
            control=self.control,
            publish=self.events.append,
            shift=self.shift,
        )

    async def work(
        self,
        *wanted: str,
        max_parallel: int = 1,
        budget: Budget | None = None,
        state: LoopState | None = None,
        way_out: Callable[[asyncio.Semaphore], WayOut] | None = None,
        supply: Supply | None = None,
    ) -> RunResult:
        slots = asyncio.Semaphore(max_parallel)
        return await Worker(
            tasks=self.tasks,
            watch=Unwatched(),
            worktrees=self.trees,
            preparation=self.setups,
            merges=self.branch,
            merge=self.merge() if way_out is None else way_out(slots),
            runs=self.runs,
            target="main",
            wanted=wanted,
            max_parallel=max_parallel,
            slots=slots,
            budget=budget or Budget(),
            state=state or LoopState(),
            journal=self.journal,
            clock=self.clock,
            control=self.control,
            publish=self._publish,
            supply=supply or NoSupply(),
        ).run()

    def _publish(self, event: LoopEvent) -> None:
        self.events.append(event)
        if isinstance(event, TaskReported):
            self.reported.append(event)
            self.has_reported.set()

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Warned)]

    @property
    def end(self) -> RunEnded:
        (end,) = [event for event in self.events if isinstance(event, RunEnded)]
        return end

    def status(self, name: str) -> TaskStatus:
        return self.tasks.get(name).status


def task(name: str, *needs: str, status: TaskStatus = TaskStatus.OPEN, **more: object) -> Task:
    accepted = JUDGED if status is TaskStatus.ACCEPTED else ""
    made = Task(id=name, title=f"Do {name}", dependencies=needs, status=status, accepted_commit=accepted)
    return replace(made, **more)  # type: ignore[arg-type]
