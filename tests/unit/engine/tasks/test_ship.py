"""Accepted tasks on their way through a pull request: done only when the forge has them, kept whatever else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from ralph.domain.delivery.progress import Asking, Ended, Fixing, Progress, Waiting
from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.domain.tasks.work_result import TaskResult
from ralph.engine.tasks import worker as worker_module
from ralph.engine.tasks.ports import Judged, JudgeOnce, Worktree
from ralph.engine.tasks.ship import TaskShip
from ralph.testing.fake_clock import FakeClock

from .work_world import BASE, JUDGED, PIPELINE, World, task

ACCEPTED, DONE, OPEN = TaskStatus.ACCEPTED, TaskStatus.DONE, TaskStatus.OPEN
MERGED = Ended("merged", is_merged=True)
SEEN = "build runs"
WAITS = Waiting("build runs", 10.0, seen=SEEN)
FIX = Fixing("failed: build", "Fix the build")

Step = Progress | Callable[["Scripted"], Awaitable[Progress]]


@dataclass
class Scripted:
    """A way out that does what the test says, and remembers what it was told. The last step is repeated."""

    world: World
    name: str
    judge: JudgeOnce
    steps: list[Step]
    log: list[str]
    lacks: set[str] = field(default_factory=set)  # commits that no merge has
    merging: str = ""
    judged: list[Judged] = field(default_factory=list)
    killed_after_merge: str = ""  # what a killed process made of the accepted commit

    async def take_up(self) -> None:
        self.log.append("take up")
        if self.killed_after_merge:
            self.world.branch.late.pop(self.name, None)

    async def is_merging(self, commit: str) -> bool:
        return bool(commit) and self.merging == commit

    def accept(self, commit: str) -> None:
        self.log.append(f"accept {commit[:1]}")

    async def advance(self) -> Progress:
        self.log.append("advance")
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return await step(self) if callable(step) else step

    async def taken(self, commit: str, ended: Ended) -> str:
        return "" if commit in self.lacks else f"taken {commit[:1]}"

    def begin_again(self) -> None:
        self.log.append("begin again")
        self.lacks.clear()

    def hand_over(self, fixing: Fixing, *, tip: str) -> None:
        self.log.append(f"hand over {fixing.reason} at {tip[:1]}")


@dataclass
class Shipping:
    """``steps``: of each task; ``prepare`` changes a shipment before it is used."""

    world: World
    steps: dict[str, list[Step]]
    prepare: Callable[[Scripted], None] = lambda _: None
    log: list[str] = field(default_factory=list)
    made: list[Scripted] = field(default_factory=list)
    limit: Callable[[], str | None] = lambda: None
    patience: float = 100.0

    def ship(self, slots: asyncio.Semaphore) -> TaskShip:
        world = self.world

        def shipment(one: Task, worktree: Worktree, judge: JudgeOnce) -> Scripted:
            made = Scripted(world, one.id, judge, self.steps[one.id], self.log)
            self.prepare(made)
            self.made.append(made)
            return made

        async def first_commit(one: Task) -> str:
            return BASE

        return TaskShip(
            tasks=world.tasks,
            merges=world.branch,
            worktrees=world.trees,
            shipment=shipment,
            first_commit=first_commit,
            taken=lambda name, worktree: f"pushed of {name}",
            pipeline=PIPELINE,
            slots=slots,
            clock=world.clock,
            control=world.control,
            publish=world.events.append,
            patience=self.patience,
            time_over=lambda: self.limit(),
        )


def ship(
    *steps: Step,
    prepare: Callable[[Scripted], None] = lambda _: None,
    before: Callable[[Shipping], None] = lambda _: None,
    **more: object,
) -> tuple[Shipping, TaskResult | Task]:
    """One accepted task, A."""

    async def run() -> tuple[Shipping, TaskResult | Task]:
        world = World(task("A", status=ACCEPTED, base_commit=BASE, **more))
        shipping = Shipping(world, {"A": list(steps)}, prepare)
        before(shipping)
        worktree = await world.trees.open("A", start=BASE)
        way_out = shipping.ship(asyncio.Semaphore(1))
        result = await way_out.run(world.tasks.get("A"), worktree)
        assert (way_out.waiting, way_out.under_way) == (0, 0)
        return shipping, result

    return asyncio.run(run())


# --- done, and only then ---


def test_merged_work_is_done_and_its_worktree_compared_with_what_was_merged() -> None:
    shipping, result = ship(WAITS, MERGED)
    assert result == TaskResult("A", Outcome.COMPLETED, "merged")
    assert shipping.world.status("A") is DONE
    assert shipping.world.trees.merged_into == ["taken a"]
    assert shipping.log == ["take up", "accept a", "advance", "advance"]


def test_what_was_accepted_after_a_person_merged_gets_another_pull_request() -> None:
    shipping, result = ship(MERGED, MERGED, prepare=lambda made: made.lacks.add(JUDGED))
    assert shipping.log[2:] == ["advance", "begin again", "advance"]
    assert result == TaskResult("A", Outcome.COMPLETED, "merged")
    assert shipping.world.warnings == [
        "A: merged, without what was accepted since: that gets another pull request"
    ]


def test_a_task_is_not_done_while_nobody_has_what_was_accepted() -> None:
    class Never(set[str]):
        def clear(self) -> None: ...

    def prepare(made: Scripted) -> None:
        made.lacks = Never({JUDGED})

    shipping, result = ship(MERGED, prepare=prepare)
    assert isinstance(result, TaskResult)
    assert result.outcome is Outcome.WAITING
    assert result.reason == (
        "accepted, but not merged: its pull request is over (merged), but aaaaaaaaaaaa, which was accepted, is not in it;"
        " ralph/A here has it"
    )
    assert shipping.world.status("A") is ACCEPTED
    assert not shipping.world.trees.closed
    assert shipping.log.count("begin again") == 1


def test_worktrees_left_of_done_tasks_are_compared_with_what_was_pushed() -> None:
    async def run() -> World:
        world = World(task("A", status=DONE, branch="ralph/A"))
        world.trees.there["A"] = Worktree(world.trees.place("A"), "ralph/A", BASE)
        await world.work(way_out=Shipping(world, {}).ship)
        return world

    assert asyncio.run(run()).trees.merged_into == ["pushed of A"]


@pytest.mark.parametrize(
    ("progress", "outcome", "word", "reason"),
    [
        (Ended("ready to be merged"), Outcome.COMPLETED, "ready", "ready to be merged"),
        (Ended("closed", is_good=False), Outcome.WAITING, "waiting", "its pull request was closed"),
        (Asking("someone pushed", "pull"), Outcome.WAITING, "waiting", "someone pushed; pull"),
        (Waiting("a review", 60.0, for_people=True), Outcome.WAITING, "waiting", "a review"),
    ],
)
def test_what_a_person_must_do_leaves_it_accepted(
    progress: Progress, outcome: Outcome, word: str, reason: str
) -> None:
    shipping, result = ship(progress)
    assert isinstance(result, TaskResult)
    assert (result.outcome, result.word) == (outcome, word)
    assert result.reason.endswith(reason)
    assert shipping.world.status("A") is ACCEPTED


# --- back to the first role ---


def test_what_must_be_fixed_is_handed_over_with_the_commit_that_it_begins_with() -> None:
    shipping, result = ship(FIX)
    assert isinstance(result, Task)
    assert (result.status, result.rejections) == (OPEN, 1)
    assert result.remarks == ("merge: pull request: failed: build",)
    assert shipping.log[-1] == "hand over failed: build at a"


def test_nothing_is_handed_over_of_a_task_that_was_cancelled_meanwhile() -> None:
    async def cancelled(made: Scripted) -> Progress:
        made.world.tasks.change("A", cancel, at=0.0)
        return FIX

    shipping, result = ship(cancelled)
    assert result == TaskResult("A", Outcome.CANCELLED, "cancelled by the user")
    assert shipping.log[-1] == "advance"


def test_it_is_told_to_the_delivery_that_a_task_was_accepted_again() -> None:
    """Once it is known what was accepted, and before anything else is done: else nothing is answered, or found futile."""
    shipping, _ = ship(MERGED)
    assert shipping.log.index("take up") < shipping.log.index("accept a") < shipping.log.index("advance")


def test_what_a_killed_process_merged_is_no_late_work() -> None:
    def prepare(made: Scripted) -> None:
        made.killed_after_merge = "m" * 40

    _, result = ship(
        MERGED, prepare=prepare, before=lambda shipping: shipping.world.branch.late.update(A=["base.py"])
    )
    assert result == TaskResult("A", Outcome.COMPLETED, "merged")


def test_conflicts_that_a_killed_process_left_are_no_late_work() -> None:
    def prepare(made: Scripted) -> None:
        made.merging = JUDGED

    conflict = Fixing("conflicts with main", "Resolve it", base="n" * 40, is_fault=False)
    shipping, result = ship(
        conflict, prepare=prepare, before=lambda shipping: shipping.world.branch.late.update(A=["base.py"])
    )
    assert isinstance(result, Task)
    assert (result.rejections, result.base_commit) == (0, "n" * 40)
    assert shipping.log[-1] == "hand over conflicts with main at a"


def test_late_work_is_sent_back_and_accepted_by_nobody() -> None:
    shipping, result = ship(MERGED, before=lambda shipping: shipping.world.branch.late.update(A=["late.py"]))
    assert isinstance(result, Task)
    assert (result.status, result.rejections) == (OPEN, 1)
    assert shipping.log == ["take up"]


# --- stops, limits, cancellations ---


def proves(wrong: str = "", meanwhile: Callable[[World], object] = lambda _: None) -> Step:
    """An advance with a final verification in it, and the push that would follow."""

    async def step(made: Scripted) -> Progress:
        async def verify() -> str:
            meanwhile(made.world)
            return wrong

        judged = await made.judge(verify)
        made.judged.append(judged)
        if judged.is_cut:
            return Waiting("the proof was cut short", 0.0)
        if judged.wrong:
            return Fixing(judged.wrong, judged.wrong)
        made.log.append("push")
        return MERGED

    return step


@pytest.mark.parametrize(("wrong", "last"), [("", "push"), ("2 tests fail", "hand over 2 tests fail at a")])
def test_a_verification_that_nothing_cut_counts(wrong: str, last: str) -> None:
    assert ship(proves(wrong))[0].log[-1] == last


def test_a_verification_that_a_stop_ended_sends_nothing_back() -> None:
    shipping, result = ship(proves("ended by a signal", lambda world: world.control.request(now=True)))
    assert isinstance(result, TaskResult)
    assert (result.outcome, result.is_stopped) == (Outcome.CANCELLED, True)
    assert shipping.world.tasks.get("A").rejections == 0
    assert shipping.world.status("A") is ACCEPTED


def test_a_verification_that_a_limit_ended_sends_nothing_back() -> None:
    limit: list[str] = []

    def before(shipping: Shipping) -> None:
        shipping.limit = lambda: limit[0] if limit else None

    shipping, result = ship(proves("killed", lambda _: limit.append("1h of 1h")), before=before)
    assert result == TaskResult("A", Outcome.EXHAUSTED, "accepted, but not merged yet: 1h of 1h")
    assert shipping.world.tasks.get("A").rejections == 0
    assert shipping.world.status("A") is ACCEPTED


def test_a_verification_that_passes_counts_even_while_all_is_stopped() -> None:
    shipping, _ = ship(proves("", lambda world: world.control.request(now=True)))
    assert shipping.log[-1] == "push"


@pytest.mark.parametrize("wrong", ["", "2 tests fail"])
def test_a_task_that_is_cancelled_while_it_is_verified_is_not_pushed(wrong: str) -> None:
    shipping, result = ship(proves(wrong, lambda world: world.tasks.change("A", cancel, at=0.0)))
    assert result == TaskResult("A", Outcome.CANCELLED, "cancelled by the user")
    assert shipping.made[0].judged == [Judged("it was cancelled while it was verified", is_cut=True)]
    assert shipping.log[-1] == "advance"


def test_a_task_that_is_cancelled_while_it_waits_is_not_looked_at_again() -> None:
    async def waits(made: Scripted) -> Progress:
        asyncio.get_running_loop().call_soon(lambda: made.world.tasks.change("A", cancel, at=0.0))
        return WAITS

    shipping, result = ship(waits, MERGED)
    assert result == TaskResult("A", Outcome.CANCELLED, "cancelled by the user")
    assert shipping.log.count("advance") == 1


def test_a_stop_ends_the_wait() -> None:
    async def stops(made: Scripted) -> Progress:
        asyncio.get_running_loop().call_soon(made.world.control.request)
        return WAITS

    shipping, result = ship(stops, MERGED)
    assert isinstance(result, TaskResult)
    assert (result.outcome, result.is_stopped) == (Outcome.CANCELLED, True)
    assert result.reason == "accepted, but not merged yet: build runs; `ralph work` continues"
    assert shipping.log.count("advance") == 1


def test_the_time_of_the_whole_work_ends_the_wait() -> None:
    def before(shipping: Shipping) -> None:
        clock = shipping.world.clock
        end = clock.monotonic() + 25
        shipping.limit = lambda: "25s of 25s" if clock.monotonic() >= end else None

    shipping, result = ship(WAITS, before=before)
    assert result == TaskResult("A", Outcome.EXHAUSTED, "accepted, but not merged yet: 25s of 25s")
    assert sum(shipping.world.clock.slept) == 25, "and not a whole wait later"
    assert shipping.world.status("A") is ACCEPTED


def waits_in_turn(*waits: Waiting) -> Step:
    turn = 0

    async def step(made: Scripted) -> Progress:
        nonlocal turn
        turn += 1
        return waits[(turn - 1) % len(waits)]

    return step


def test_patience_ends_although_the_forge_is_away_now_and_then() -> None:
    shipping, result = ship(waits_in_turn(WAITS, Waiting("the forge is away", 10.0)))
    assert isinstance(result, TaskResult)
    assert result.outcome is Outcome.WAITING
    assert sum(shipping.world.clock.slept) == 100


def test_patience_begins_again_with_every_change() -> None:
    seen = [Waiting("build runs", 60.0, seen=number) for number in range(5)]
    shipping, result = ship(*seen, MERGED)
    assert result == TaskResult("A", Outcome.COMPLETED, "merged")
    assert sum(shipping.world.clock.slept) == 300


# --- many at once ---


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "LOOK_EVERY", 0.001)


class Unhurried(FakeClock):
    """Sleeps long enough for a worker to look in between."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await asyncio.sleep(0.01)


@dataclass
class Busy:
    """Counts who uses the machine."""

    now: int = 0
    most: int = 0

    async def use(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1


def all_together(names: str) -> Step:
    """Waits until every task has come so far."""
    there: set[str] = set()

    async def step(made: Scripted) -> Progress:
        there.add(made.name)
        if len(there) == len(names):
            return Waiting("all are there", 0.0)
        made.steps.insert(0, step)
        return WAITS

    return step


def proves_busily(busy: Busy) -> Step:
    async def step(made: Scripted) -> Progress:
        async def verify() -> str:
            await busy.use()
            return ""

        assert not (await made.judge(verify)).is_cut
        return WAITS

    return step


@pytest.mark.parametrize("max_parallel", [1, 2, 3])
@pytest.mark.parametrize("status", [OPEN, ACCEPTED])
def test_sessions_and_verifications_together_are_never_more_than_allowed(
    max_parallel: int, status: TaskStatus
) -> None:
    """All of them are verified at once, and sent back at once."""
    names = "ABCDEF"

    async def run() -> tuple[World, Busy]:
        busy = Busy()

        async def session(world: World, one: Task) -> None:
            await busy.use()

        tasks = [task(name, status=status, base_commit=BASE) for name in names]
        world = World(*tasks, scripts=dict.fromkeys(names, session))
        world.clock = Unhurried()
        first, second = all_together(names), all_together(names)
        steps = [first, proves_busily(busy), second, FIX, proves_busily(busy), MERGED]
        shipping = Shipping(world, {name: list(steps) for name in names}, patience=float("inf"))
        async with asyncio.timeout(20):
            await world.work(max_parallel=max_parallel, way_out=shipping.ship)
        return world, busy

    world, busy = asyncio.run(run())
    assert {world.status(name) for name in names} == {DONE}
    assert busy.most == max_parallel


def test_one_that_waits_makes_room_for_another_and_is_still_looked_at() -> None:
    """With room for one: B is worked on while A waits, and A is looked at, and merged, while B is."""

    async def run() -> tuple[list[str], World]:
        merged, begun = asyncio.Event(), asyncio.Event()
        told: list[str] = []

        async def session(world: World, one: Task) -> None:
            told.append("B begins")
            begun.set()
            await merged.wait()
            told.append("B ends")

        async def sleeps(made: Scripted) -> Progress:
            return WAITS if not begun.is_set() else await merges(made)

        async def merges(made: Scripted) -> Progress:
            told.append("A is merged")
            merged.set()
            return MERGED

        world = World(task("A", status=ACCEPTED, base_commit=BASE), task("B"), scripts={"B": session})
        world.clock = Unhurried()
        shipping = Shipping(world, {"A": [sleeps], "B": [MERGED]}, patience=float("inf"))
        async with asyncio.timeout(20):
            await world.work(max_parallel=1, way_out=shipping.ship)
        return told, world

    told, world = asyncio.run(run())
    assert told == ["B begins", "A is merged", "B ends"]
    assert (world.status("A"), world.status("B")) == (DONE, DONE)
