"""The scheduler of ``ralph work``: what it starts, in which order, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.pipeline import Conflict, NotMerged
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.engine.loop import RunResult
from ralph.engine.tasks.ports import Worktree

from .work_world import BASE, Script, World, task

DONE, OPEN, ACCEPTED = TaskStatus.DONE, TaskStatus.OPEN, TaskStatus.ACCEPTED


def work(
    *tasks: Task,
    wanted: tuple[str, ...] = (),
    max_parallel: int = 1,
    budget: Budget | None = None,
    state: LoopState | None = None,
    scripts: dict[str, Script] | None = None,
    claimed_by_others: tuple[str, ...] = (),
    prepare: Callable[[World], None] = lambda _: None,
) -> tuple[World, RunResult]:
    async def run() -> tuple[World, RunResult]:
        world = World(*tasks, scripts=scripts, claimed_by_others=claimed_by_others)
        prepare(world)
        result = await world.work(*wanted, max_parallel=max_parallel, budget=budget, state=state)
        assert not world.tasks.claimed, "whatever was claimed is released in the end"
        return world, result

    return asyncio.run(run())


def ends(outcome: Outcome) -> Script:
    async def script(world: World, task: Task) -> Outcome:
        return outcome

    return script


# --- which ones, and how many at once ---


@pytest.mark.parametrize("max_parallel", [1, 2, 3, 10])
def test_never_more_at_once_than_allowed(max_parallel: int) -> None:
    world, result = work(*(task(name) for name in "ABCDE"), max_parallel=max_parallel)
    assert result.outcome is Outcome.COMPLETED
    assert world.runs.most == min(max_parallel, 5)
    assert sorted(world.branch.merged) == ["A", "B", "C", "D", "E"]
    assert world.branch.most == 1, "merges take turns"


def test_one_that_waits_for_another_is_begun_when_that_is_merged() -> None:
    world, result = work(task("B", "A"), task("A"), max_parallel=2)
    assert world.runs.began == ["A", "B"]
    assert world.branch.merged == ["A", "B"]
    assert result.outcome is Outcome.COMPLETED


def test_only_the_wanted_ones_are_worked_on() -> None:
    world, result = work(task("A"), task("B"), task("C", status=ACCEPTED), wanted=("B",))
    assert (world.runs.began, world.branch.merged) == (["B"], ["B"])
    assert result.outcome is Outcome.COMPLETED
    assert world.status("A") is OPEN


def test_what_another_process_works_on_is_left_to_it() -> None:
    world, result = work(task("A"), task("B"), claimed_by_others=("A",))
    assert world.runs.began == ["B"]
    assert (result.outcome, result.reason) == (Outcome.WAITING, "1 done; 1 not begun: A")


def test_nothing_is_ready() -> None:
    world, result = work(task("A", status=DONE))
    assert not world.runs.began
    assert (result.outcome, result.reason) == (Outcome.COMPLETED, "no task is left to do")


# --- after a crash ---


def test_what_an_earlier_process_had_accepted_is_merged_first_and_not_worked_on_again() -> None:
    world, _ = work(task("A"), task("B", status=ACCEPTED, base_commit=BASE), task("C"))
    assert world.branch.merged == ["B", "A", "C"]
    assert world.runs.began == ["A", "C"]


def test_worktrees_that_an_earlier_process_left_of_merged_tasks_are_removed_first() -> None:
    def prepare(world: World) -> None:
        for name in ("A", "B", "C", "_integration"):
            world.trees.there[name] = Worktree(world.trees.place(name), f"ralph/{name}", BASE)

    world, _ = work(
        task("A", status=DONE, branch="ralph/A"),
        task("B", status=TaskStatus.FAILED, branch="ralph/B"),
        task("C", branch="ralph/C", base_commit=BASE),
        prepare=prepare,
    )
    assert world.trees.closed == ["A", "C"], "A at the start, C when it was merged; B keeps its work"


def test_an_unfinished_one_goes_on_in_its_worktree_caught_up_with_its_base() -> None:
    world, _ = work(task("A", base_commit="f" * 40, remarks=("merge: conflict",)))
    assert world.branch.caught_up == [("A", "f" * 40)]
    assert world.tasks.get("A").branch == "ralph/A"


def test_counts_and_spend_go_on_where_they_stood() -> None:
    before = LoopState(iteration=4, spend=Spend(cost_usd=2.5), seconds=100.0)
    world, result = work(task("A"), state=before)
    assert (result.iterations, result.spend.cost_usd, result.state.seconds) == (5, 3.5, 100.0)
    assert world.journal.states[-1] == result.state


# --- what goes wrong ---


def test_one_that_fails_does_not_stop_the_others() -> None:
    world, result = work(
        task("A"),
        task("B"),
        task("C"),
        scripts={"A": ends(Outcome.FAILED)},
        prepare=lambda world: world.trees.broken.add("B"),
    )
    assert world.branch.merged == ["C"]
    assert result.outcome is Outcome.EXHAUSTED
    assert {one.task: one.reason for one in world.reported} == {
        "A": "as the script says",
        "B": "no space left on device",
        "C": "merged as cccccccccccc",
    }
    assert world.warnings == ["B: no space left on device"]
    assert world.end.concerns == ("A: as the script says", "B: no space left on device")


def test_one_that_cannot_be_worked_on_is_tried_once() -> None:
    """It stays open, and would be ready again at once."""
    world, _ = work(task("A"), prepare=lambda world: world.trees.broken.add("A"))
    assert [one.task for one in world.reported] == ["A"]
    assert world.status("A") is OPEN


def test_a_conflict_goes_back_to_the_agent_and_is_merged_then() -> None:
    tip = "t" * 40

    def prepare(world: World) -> None:
        world.branch.answers["A"] = [Conflict(("a.py",), tip)]

    world, result = work(task("A"), prepare=prepare)
    assert world.runs.began == ["A", "A"]
    assert world.branch.caught_up == [("A", BASE), ("A", tip)]
    assert world.branch.merged == ["A"]
    assert (world.reported[0].iterations, world.reported[0].rejections) == (2, 1)
    assert result.outcome is Outcome.COMPLETED


def test_one_that_comes_back_too_often_fails() -> None:
    def prepare(world: World) -> None:
        world.wrong = lambda _: "2 tests fail"

    world, result = work(task("A"), prepare=prepare)
    assert world.runs.began == ["A"] * 3
    assert world.status("A") is TaskStatus.FAILED
    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "1 failed")


def test_one_whose_merge_must_wait_waits_for_the_user() -> None:
    def prepare(world: World) -> None:
        world.branch.answers["A"] = [NotMerged("your working tree is in the way")]

    world, result = work(task("A"), task("B"), prepare=prepare)
    assert world.branch.merged == ["B"]
    assert (result.outcome, result.reason) == (Outcome.WAITING, "1 waiting; 1 done")


def test_commits_that_somebody_else_merged_are_told() -> None:
    world, _ = work(
        task("A"),
        scripts={"A": ends(Outcome.EXHAUSTED)},
        prepare=lambda world: world.branch.foreign.add("A"),
    )
    told = "A: commits that were not accepted are in main, and ralph did not merge them"
    assert world.warnings == [told]
    assert told in world.end.concerns


def test_a_task_that_is_cancelled_while_it_is_worked_on_stays_so() -> None:
    async def cancel_meanwhile(world: World, task: Task) -> Outcome:
        world.tasks.change(task.id, cancel, at=0.0)
        return Outcome.EXHAUSTED

    world, result = work(task("A"), task("B"), scripts={"A": cancel_meanwhile})
    assert world.reported[0].outcome is Outcome.CANCELLED
    assert world.reported[0].result == "cancelled"
    assert world.branch.merged == ["B"]
    assert result.reason == "1 cancelled; 1 done"


# --- limits and stops ---


def test_a_limit_begins_nothing_more_but_lets_the_running_ones_end() -> None:
    async def outlast(world: World, task: Task) -> None:
        await world.has_reported.wait()

    world, result = work(
        task("A"), task("B"), task("C"), max_parallel=2, budget=Budget(cost_usd=1.0), scripts={"B": outlast}
    )
    assert world.runs.began == ["A", "B"]
    assert world.branch.merged == ["A", "B"]
    assert (result.outcome, result.reason) == (Outcome.EXHAUSTED, "budget reached: $1.00 of $1.00")
    assert result.spend.cost_usd == 2.0
    assert world.status("C") is OPEN


def test_a_limit_that_left_nothing_is_no_failure() -> None:
    world, result = work(task("A"), budget=Budget(iterations=1))
    assert (result.outcome, result.reason) == (Outcome.COMPLETED, "1 done")
    assert world.branch.left, "the tree of the merges is removed"


def test_what_is_accepted_is_merged_whatever_limit_is_reached() -> None:
    spent = LoopState(spend=Spend(cost_usd=1.0))
    accepted = task("A", status=ACCEPTED, base_commit=BASE)
    world, result = work(accepted, task("B"), budget=Budget(cost_usd=1.0), state=spent)
    assert (world.branch.merged, world.runs.began) == (["A"], [])
    assert result.outcome is Outcome.EXHAUSTED


def test_a_branch_that_was_moved_beneath_the_user_is_told() -> None:
    async def fail(world: World, task: Task) -> Outcome:
        world.branch.moved = "main was moved"
        return Outcome.EXHAUSTED

    world, _ = work(task("A"), scripts={"A": fail})
    assert "A: main was moved" in world.warnings
    assert "A: main was moved" in world.end.concerns


def test_a_stop_begins_nothing_more_but_lets_the_running_ones_end() -> None:
    async def stop(world: World, task: Task) -> None:
        world.control.request()

    world, result = work(task("A"), task("B"), scripts={"A": stop})
    assert (world.runs.began, world.branch.merged) == (["A"], ["A"])
    assert (result.outcome, result.reason) == (Outcome.CANCELLED, "1 done; 1 not begun: B")


def test_one_that_was_sent_back_is_not_begun_again_after_a_stop() -> None:
    def prepare(world: World) -> None:
        def stop(one: Task) -> str:
            world.control.request()
            return "2 tests fail"

        world.wrong = stop

    world, result = work(task("A"), prepare=prepare)
    assert world.runs.began == ["A"]
    assert world.reported[0].result == "stopped"
    assert world.status("A") is OPEN
    assert result.outcome is Outcome.CANCELLED


def test_a_failure_of_the_record_ends_all_and_releases_what_was_claimed() -> None:
    async def hang(world: World, task: Task) -> None:
        await asyncio.get_running_loop().create_future()

    async def lose(world: World, task: Task) -> None:
        message = "the disk is gone"
        raise RuntimeError(message)

    async def run() -> World:
        world = World(task("A"), task("B"), scripts={"A": hang, "B": lose})
        with pytest.raises(RuntimeError, match="the disk is gone"):
            await world.work(max_parallel=2)
        return world

    world = asyncio.run(run())
    assert world.runs.under_way == 0
    assert not world.tasks.claimed


# --- worktrees that cannot be set up ---


def test_no_task_is_charged_for_a_worktree_that_cannot_be_set_up() -> None:
    """What is under way is finished, and nothing more is begun."""

    def break_one(world: World) -> None:
        world.setups.broken.add("B")

    world, result = work(task("A"), task("B"), task("C"), max_parallel=2, prepare=break_one)

    assert (result.outcome, result.reason, result.hint) == (Outcome.FAILED, "`npm ci` failed", "fix it")
    assert [world.status(name) for name in "ABC"] == [DONE, OPEN, OPEN]
    assert "no such package" in world.end.concerns
    assert not world.warnings, "it is said once, at the end"
