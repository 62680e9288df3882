"""The worker with a supply of tasks: it stays, begins what arrives, leaves what is not ours, and says what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.pipeline import NotMerged
from ralph.domain.tasks.refusal import NotOurs
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.engine.loop import RunResult
from ralph.engine.tasks.ports import Worktree
from ralph.engine.tasks.worker import ACCEPTED_AGAIN
from ralph.errors import ServiceRefused, StoreError

from .work_world import BASE, Setups, World, task, wait_until

AGAIN = 90.0
TIMEOUT = 30.0


async def look_for_ever(world: World) -> None:
    await asyncio.get_running_loop().create_future()


@dataclass
class Tray:
    """A supply that does as a test says. ``refusals``: what ``take`` answers, one after the other; then the task is ours."""

    world: World
    stays: bool = True
    look: Callable[[World], Awaitable[None]] = look_for_ever
    refusals: dict[str, list[NotOurs]] = field(default_factory=dict)
    last_words: Sequence[str] = ()
    taken: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    async def look_after(self) -> None:
        self.log.append("looks")
        try:
            await self.look(self.world)
        finally:
            self.log.append("ended")

    async def take(self, task: Task) -> NotOurs | None:
        self.taken.append(task.id)
        await asyncio.sleep(0)
        answers = self.refusals.get(task.id)
        return answers.pop(0) if answers else None

    async def close(self) -> Sequence[str]:
        self.log.append("closed")
        return self.last_words


def work(
    *tasks: Task,
    arrange: Callable[[Tray], None] = lambda tray: None,
    wanted: tuple[str, ...] = (),
    budget: Budget | None = None,
    state: LoopState | None = None,
    max_parallel: int = 1,
) -> tuple[Tray, RunResult]:
    async def run() -> tuple[Tray, RunResult]:
        tray = Tray(World(*tasks))
        arrange(tray)
        async with asyncio.timeout(TIMEOUT):
            result = await tray.world.work(
                *wanted, supply=tray, budget=budget, state=state, max_parallel=max_parallel
            )
        assert not tray.world.tasks.claimed, "whatever was claimed is released in the end"
        return tray, result

    return asyncio.run(run())


def stop_when(tray: Tray, is_over: Callable[[World], bool]) -> None:
    """The user stops it then, and not before some time has passed without anything to do."""

    async def look(world: World) -> None:
        await wait_until(lambda: is_over(world))
        world.control.request()
        await look_for_ever(world)

    tray.look = look


# --- staying ---


def test_it_stays_until_it_is_stopped() -> None:
    tray, result = work(arrange=lambda tray: stop_when(tray, lambda world: world.clock.time > 1_700_000_500))
    assert tray.log == ["looks", "ended", "closed"]
    assert result.outcome is Outcome.CANCELLED, "whoever stays is never done"
    assert result.state.seconds >= 500


def test_one_that_does_not_stay_ends_when_nothing_is_left() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False

    tray, result = work(task("A"), arrange=arrange)
    assert (tray.taken, tray.log) == (["A"], ["looks", "ended", "closed"])
    assert result.outcome is Outcome.COMPLETED


def test_what_arrives_later_is_begun() -> None:
    def arrange(tray: Tray) -> None:
        async def look(world: World) -> None:
            for name in ("A", "B"):
                await wait_until(lambda: world.clock.time >= 1_700_000_100)
                world.tasks.all[name] = task(name)
                await wait_until(partial(world.branch.merged.__contains__, name))
            world.control.request()

        tray.look = look

    tray, result = work(arrange=arrange)
    assert tray.world.branch.merged == ["A", "B"]
    assert (result.outcome, result.reason) == (Outcome.CANCELLED, "2 done")


def test_what_arrives_while_others_are_worked_on_is_begun_beside_them() -> None:
    async def wait_for_b(world: World, one: Task) -> None:
        await world.has_reported.wait()
        assert "B" in world.runs.began

    async def run() -> Tray:
        world = World(task("A"), scripts={"A": wait_for_b})
        tray = Tray(world)

        async def look(world: World) -> None:
            await wait_until(lambda: world.runs.began)
            world.tasks.all["B"] = task("B")
            await wait_until(lambda: len(world.branch.merged) == 2)
            world.control.request()

        tray.look = look
        async with asyncio.timeout(TIMEOUT):
            await world.work(supply=tray, max_parallel=2)
        return tray

    tray = asyncio.run(run())
    assert sorted(tray.world.branch.merged) == ["A", "B"]


def test_a_limit_ends_the_watch() -> None:
    tray, result = work(task("A"), task("B"), budget=Budget(cost_usd=1.0))
    assert tray.world.runs.began == ["A"]
    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "budget reached: $1.00 of $1.00")
    assert tray.log[-1] == "closed"


def test_the_time_that_is_over_ends_a_watch_without_work() -> None:
    _, result = work(budget=Budget(seconds=600.0))
    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "time is over: 600 s")


def test_a_limit_that_is_reached_already_takes_nothing() -> None:
    tray, _ = work(task("A"), budget=Budget(cost_usd=1.0), state=LoopState(spend=Spend(cost_usd=1.0)))
    assert tray.taken == []


# --- not ours ---


def test_one_that_is_not_ours_waits_and_the_others_go_on() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False
        tray.refusals["A"] = [NotOurs("#1 is not ours now: other works on it")]

    tray, result = work(task("A"), task("B"), task("C", "A"), arrange=arrange)
    world = tray.world
    assert world.branch.merged == ["B"]
    assert world.status("A") is TaskStatus.OPEN
    told = {one.task: (one.outcome, one.reason, one.is_begun) for one in world.reported}
    assert told["A"] == (Outcome.WAITING, "#1 is not ours now: other works on it", False)
    assert "A" not in world.trees.there, "no worktree was made for it"
    assert result.outcome is Outcome.WAITING
    assert world.warnings == []


def test_whoever_stays_asks_for_it_again() -> None:
    """Whoever had it may have stood back."""

    def arrange(tray: Tray) -> None:
        tray.refusals["A"] = [NotOurs("other works on it", AGAIN)] * 3
        stop_when(tray, lambda world: world.branch.merged == ["A"])

    tray, result = work(task("A"), arrange=arrange)
    assert tray.taken == ["A"] * 4
    assert result.reason == "1 done"
    assert result.state.seconds >= 3 * AGAIN
    assert [(one.task, one.result) for one in tray.world.reported] == [("A", "waiting"), ("A", "done")], (
        "said once, however often it is asked for"
    )


def test_one_that_was_asked_for_by_name_is_asked_for_again_too() -> None:
    def arrange(tray: Tray) -> None:
        tray.refusals["A"] = [NotOurs("other works on it", AGAIN)]
        stop_when(tray, lambda world: world.branch.merged == ["A"])

    tray, _ = work(task("A"), task("B"), wanted=("A",), arrange=arrange)
    assert tray.taken == ["A", "A"]
    assert tray.world.runs.began == ["A"]


def test_one_that_is_not_asked_for_again_in_time_is_left_when_it_is_stopped() -> None:
    def arrange(tray: Tray) -> None:
        tray.refusals["A"] = [NotOurs("other works on it", 1e9)]
        stop_when(tray, lambda world: world.clock.time > 1_700_000_500)

    tray, result = work(task("A"), arrange=arrange)
    assert tray.taken == ["A"]
    assert result.outcome is Outcome.CANCELLED


def test_whoever_cannot_be_asked_now_is_asked_again_and_the_others_go_on_meanwhile() -> None:
    """Also where nobody stays: a tracker that is away for some minutes ends no work."""

    def arrange(tray: Tray) -> None:
        tray.stays = False
        tray.refusals["A"] = [NotOurs("the tracker is away", AGAIN)] * 2

    tray, result = work(task("A"), task("B"), task("C", "A"), arrange=arrange)
    assert tray.taken == ["A", "B", "A", "A", "C"]
    assert tray.world.branch.merged == ["B", "A", "C"]
    assert result.outcome is Outcome.COMPLETED
    assert result.state.seconds >= 2 * AGAIN
    assert "C" not in [one.task for one in tray.world.reported[:2]]


def test_whoever_is_given_up_is_left_and_the_end_says_why() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False
        tray.refusals["A"] = [NotOurs("the tracker is away", AGAIN), NotOurs("the tracker is away for good")]

    tray, result = work(task("A"), arrange=arrange)
    assert tray.taken == ["A", "A"]
    assert result.outcome is Outcome.WAITING
    assert "A: the tracker is away for good" in tray.world.end.concerns
    assert tray.world.runs.began == []


@pytest.mark.parametrize("stays", [True, False])
def test_a_limit_ends_the_wait_for_a_ticket(stays: bool) -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = stays
        tray.refusals["A"] = [NotOurs("the tracker is away", AGAIN)] * 1000

    tray, result = work(task("A"), arrange=arrange, budget=Budget(seconds=600.0))
    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "time is over: 600 s")
    assert result.state.seconds < 600.0 + AGAIN
    assert tray.world.runs.began == []


def test_a_stop_ends_the_wait_for_a_ticket() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False
        tray.refusals["A"] = [NotOurs("the tracker is away", AGAIN)] * 1000
        stop_when(tray, lambda world: world.clock.time > 1_700_000_500)

    tray, result = work(task("A"), arrange=arrange)
    assert result.outcome is Outcome.CANCELLED
    assert len(tray.taken) < 10


def test_one_that_was_withdrawn_while_it_was_taken_is_cancelled() -> None:
    async def run() -> World:
        world = World(task("A"))

        class Withdrawing(Tray):
            async def take(self, task: Task) -> NotOurs | None:
                world.tasks.change(task.id, lambda now: cancel(now, "its ticket is closed"), at=0.0)
                return NotOurs("its ticket is closed")

        await world.work(supply=Withdrawing(world, stays=False))
        return world

    world = asyncio.run(run())
    assert [(one.outcome, one.reason) for one in world.reported] == [
        (Outcome.CANCELLED, "its ticket is closed")
    ]
    assert world.runs.began == []


def test_an_error_while_one_is_taken_is_its_own() -> None:
    async def run() -> World:
        world = World(task("A"), task("B"))

        class Broken(Tray):
            async def take(self, task: Task) -> NotOurs | None:
                if task.id == "A":
                    raise StoreError("the record is locked")
                return None

        await world.work(supply=Broken(world, stays=False))
        return world

    world = asyncio.run(run())
    assert world.branch.merged == ["B"]
    assert world.warnings == ["A: the record is locked"]


def test_what_was_accepted_is_asked_for_too() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False

    tray, _ = work(task("A", status=TaskStatus.ACCEPTED, base_commit=BASE), arrange=arrange)
    assert tray.taken == ["A"]
    assert tray.world.branch.merged == ["A"]


# --- its end ---


def test_what_the_supply_says_in_the_end_is_told() -> None:
    def arrange(tray: Tray) -> None:
        tray.stays = False
        tray.last_words = ("1 ticket could not be told",)

    tray, _ = work(task("A"), arrange=arrange)
    assert "1 ticket could not be told" in tray.world.end.concerns


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ServiceRefused("no login", hint="log in"), "no login"),
        (RuntimeError("a bug"), "RuntimeError: a bug"),
        (KeyError("a bug"), "KeyError: 'a bug'"),
    ],
)
def test_whoever_looks_after_it_and_fails_ends_the_watch_but_not_the_work(
    error: Exception, told: str
) -> None:
    """Nobody would come any more; and no traceback reaches the user."""

    def arrange(tray: Tray) -> None:
        async def look(world: World) -> None:
            raise error

        tray.look = look

    tray, result = work(task("A"), task("B"), arrange=arrange)
    assert tray.world.branch.merged == ["A", "B"]
    assert result.outcome is Outcome.COMPLETED
    assert tray.world.end.concerns == (f"tickets were not looked after to the end: {told}",)
    assert tray.log[-1] == "closed"


def test_a_stop_lets_what_is_under_way_end() -> None:
    async def stop(world: World, one: Task) -> None:
        world.control.request()

    async def run() -> Tray:
        world = World(task("A"), task("B"), scripts={"A": stop})
        tray = Tray(world)
        async with asyncio.timeout(TIMEOUT):
            await world.work(supply=tray)
        return tray

    tray = asyncio.run(run())
    assert tray.world.branch.merged == ["A"]
    assert tray.log == ["looks", "ended", "closed"]


def test_whoever_stays_looks_again_at_what_is_accepted_and_not_merged() -> None:
    """A person merges its pull request some day, or makes room for the merge."""

    def arrange(tray: Tray) -> None:
        tray.world.branch.answers["A"] = [NotMerged("your own changes are in the way")] * 2
        stop_when(tray, lambda world: world.branch.merged == ["A"])

    tray, result = work(task("A"), arrange=arrange)
    assert tray.world.runs.began == ["A"], "its sessions are not paid twice"
    assert result.reason == "1 done"
    assert result.state.seconds >= 2 * ACCEPTED_AGAIN


@pytest.mark.parametrize("wanted", [(), ("A",)])
def test_accepted_work_that_its_user_removes_meanwhile_does_not_end_the_watch(
    wanted: tuple[str, ...],
) -> None:
    """It waits for a person, and nobody works on it: so it may be removed."""

    def arrange(tray: Tray) -> None:
        tray.world.branch.answers["A"] = [NotMerged("your own changes are in the way")]

        async def look(world: World) -> None:
            await wait_until(lambda: any(one.task == "A" for one in world.reported))
            await wait_until(lambda: "A" not in world.tasks.claimed)
            del world.tasks.all["A"]
            after = world.clock.time + 2 * ACCEPTED_AGAIN
            await wait_until(lambda: world.clock.time > after)
            world.tasks.all["B"] = task("B")
            if not wanted:
                await wait_until(lambda: world.branch.merged == ["B"])
            world.control.request()

        tray.look = look

    tray, result = work(task("A"), wanted=wanted, arrange=arrange)
    assert tray.world.branch.merged == ([] if wanted else ["B"])
    assert result.outcome is Outcome.CANCELLED, "by the user's stop"
    assert tray.log[-1] == "closed"


def test_a_task_that_was_asked_for_by_name_and_removed_before_it_began_ends_nothing() -> None:
    async def remove(world: World, one: Task) -> None:
        del world.tasks.all["B"]

    async def run() -> World:
        world = World(task("A"), task("B"), scripts={"A": remove})
        await world.work("A", "B")
        return world

    world = asyncio.run(run())
    assert world.branch.merged == ["A"]
    assert world.end.outcome is Outcome.COMPLETED


def test_a_task_begins_with_the_words_that_it_got_while_it_was_taken() -> None:
    seen: list[str] = []

    async def see(world: World, one: Task) -> None:
        seen.append(one.title)

    async def run() -> None:
        world = World(task("A"), scripts={"A": see})

        class Renaming(Tray):
            async def take(self, task: Task) -> NotOurs | None:
                world.tasks.change(task.id, lambda now: replace(now, title="Do it well"), at=0.0)
                return None

        await world.work(supply=Renaming(world, stays=False))

    asyncio.run(run())
    assert seen == ["Do it well"]


def test_one_that_its_user_cancels_while_it_is_taken_is_neither_begun_nor_merged() -> None:
    async def run() -> World:
        world = World(task("A"))

        class Slow(Tray):
            async def take(self, task: Task) -> NotOurs | None:
                world.tasks.change(task.id, lambda now: cancel(now, "cancelled by the user"), at=0.0)
                return None

        await world.work(supply=Slow(world, stays=False))
        return world

    world = asyncio.run(run())
    assert (world.runs.began, world.branch.merged, world.trees.there) == ([], [], {})
    assert [(one.outcome, one.reason) for one in world.reported] == [
        (Outcome.CANCELLED, "cancelled by the user")
    ]


def test_one_that_its_user_cancels_while_its_worktree_is_set_up_is_neither_begun_nor_merged() -> None:
    async def run() -> World:
        world = World(task("A"))

        class Slow(Setups):
            async def prepare(self, worktree: Worktree) -> str | None:
                world.tasks.change("A", lambda now: cancel(now, "cancelled by the user"), at=0.0)
                return await super().prepare(worktree)

        world.setups = Slow()
        await world.work()
        return world

    world = asyncio.run(run())
    assert (world.runs.began, world.branch.merged) == ([], [])
    assert world.status("A") is TaskStatus.CANCELLED
    assert [(one.outcome, one.reason) for one in world.reported] == [
        (Outcome.CANCELLED, "cancelled by the user")
    ]
