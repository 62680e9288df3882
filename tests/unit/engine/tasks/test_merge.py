"""What becomes of accepted work: merged, sent back, failed or left waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.domain.loop.decision import Outcome
from ralph.domain.tasks.leftovers import is_made_again
from ralph.domain.tasks.pipeline import (
    NOTHING_CHANGED,
    Conflict,
    Merged,
    MergeResult,
    NotMerged,
    SentBack,
    Unverified,
    compare_with_accepted,
    judge_merge,
    send_back,
)
from ralph.domain.tasks.task import Task, TaskStatus, cancel
from ralph.domain.tasks.work_result import TaskResult
from ralph.engine.tasks.ports import Removal

from .work_world import BASE, JUDGED, PIPELINE, World, task

TIP = "t" * 40
ACCEPTED = TaskStatus.ACCEPTED


def merge(
    *, prepare: Callable[[World], None] = lambda _: None, **more: object
) -> tuple[World, TaskResult | Task]:
    async def run() -> tuple[World, TaskResult | Task]:
        world = World(task("A", status=ACCEPTED, base_commit=BASE, **more))
        prepare(world)
        worktree = await world.trees.open("A", start="main")
        return world, await world.merge().run(world.tasks.get("A"), worktree)

    return asyncio.run(run())


def answer(result: MergeResult) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.branch.answers["A"] = [result]

    return prepare


@pytest.mark.parametrize(
    ("prepare", "noted"),
    [
        (lambda world: None, "c" * 40),
        (lambda world: world.branch.unchanged.add("A"), "c" * 40),
        (answer(Conflict(("a.py",), TIP)), ""),
        (answer(NotMerged("your working tree is in the way")), ""),
    ],
)
def test_only_what_ralph_has_merged_is_told_as_merged(prepare: Callable[[World], None], noted: str) -> None:
    world, _ = merge(prepare=prepare)
    assert world.shift.merged == noted


def test_merged_work_is_done_and_its_worktree_is_removed() -> None:
    world, result = merge()
    assert result == TaskResult("A", Outcome.COMPLETED, "merged as cccccccccccc")
    assert world.status("A") is TaskStatus.DONE
    assert world.trees.closed == ["A"]
    assert world.tasks.notes == [("A", "merged", "into main as cccccccccccc")]
    assert not world.warnings


def test_work_without_a_change_is_merged_with_a_warning() -> None:
    world, result = merge(prepare=lambda world: world.branch.unchanged.add("A"))
    assert result == TaskResult("A", Outcome.COMPLETED, NOTHING_CHANGED)
    assert world.status("A") is TaskStatus.DONE
    assert world.warnings == [f"A: {NOTHING_CHANGED}"]


def test_a_conflict_sends_it_back_to_the_first_role_to_be_resolved_there() -> None:
    world, result = merge(
        prepare=answer(Conflict(("a.py", "b.py"), TIP)), stage="qa", used=3, rejections=1, remarks=("qa: no",)
    )
    assert isinstance(result, Task)
    assert (result.status, result.stage, result.used, result.rejections) == (TaskStatus.OPEN, "coder", 0, 2)
    assert result.base_commit == TIP, "what is compared from now on contains the merge"
    assert result.remarks == (
        "qa: no",
        "merge: merge conflict with main in a.py, b.py: resolve it in your worktree and commit the merge",
    )
    assert world.tasks.get("A") == result
    assert not world.trees.closed


def test_what_does_not_pass_on_the_merged_tree_is_sent_back_with_the_reason() -> None:
    def prepare(world: World) -> None:
        world.wrong = lambda _: "`make test` failed"

    world, result = merge(prepare=prepare)
    assert isinstance(result, Task)
    assert result.remarks == ("merge: after merging with main: `make test` failed",)
    assert not world.branch.merged


def test_one_that_came_back_too_often_fails() -> None:
    world, result = merge(prepare=answer(Unverified("2 tests fail", TIP)), rejections=2)
    told = "after merging with main: 2 tests fail"
    assert result == TaskResult("A", Outcome.FAILED, told)
    failed = world.tasks.get("A")
    assert (failed.status, failed.reason, failed.rejections) == (TaskStatus.FAILED, told, 2)
    assert failed.base_commit == BASE


def test_a_tree_that_is_in_the_way_leaves_it_accepted() -> None:
    world, result = merge(prepare=answer(NotMerged("your working tree is in the way")))
    assert result == TaskResult(
        "A", Outcome.WAITING, "accepted, but not merged: your working tree is in the way"
    )
    assert world.status("A") is ACCEPTED
    assert world.tasks.notes == [("A", "not merged", "your working tree is in the way")]
    assert not world.trees.closed


def test_a_worktree_that_left_its_branch_is_sent_back_before_anything_is_merged() -> None:
    world, result = merge(prepare=lambda world: world.branch.off_branch.add("A"))
    assert isinstance(result, Task)
    assert result.base_commit == BASE
    assert result.remarks == (
        "merge: your worktree has left its branch ralph/A: bring your work onto it and check it out",
    )
    assert not world.branch.merged


LATE = "changed after the work was accepted, so nobody has judged that"


@pytest.mark.parametrize(
    ("late", "told", "is_fault"),
    [
        ((), None, False),
        (("a.py",), f"a.py {LATE}", True),
        (tuple("gfedcba"), f"a, b, c, d, e and 2 more {LATE}", True),
        (None, "nobody knows any more what exactly was accepted", False),
    ],
)
def test_only_what_was_accepted_is_merged(
    late: tuple[str, ...] | None, told: str | None, is_fault: bool
) -> None:
    back = compare_with_accepted(task("A", status=ACCEPTED, base_commit=BASE), late)
    assert (back is None) == (told is None)
    if back is not None:
        assert back.remark.startswith(told or "-")
        assert (back.base, back.is_fault, back.is_rejudged) == (BASE, is_fault, late is None)


def test_what_was_written_after_the_acceptance_sends_it_back() -> None:
    world, result = merge(prepare=lambda world: world.branch.late.update(A=["late.py"]))
    assert isinstance(result, Task)
    assert (result.status, result.stage, result.rejections) == (TaskStatus.OPEN, "coder", 1)
    assert result.accepted_commit == ""
    assert not world.branch.merged


@pytest.mark.parametrize("commit", ["", "gone"])
def test_if_nobody_knows_what_was_accepted_the_last_role_judges_once_more(commit: str) -> None:
    world, result = merge(accepted_commit=commit, rejections=2)
    assert isinstance(result, Task)
    assert (result.status, result.stage, result.rejections) == (TaskStatus.OPEN, "qa", 2)
    assert not world.branch.merged


def test_a_task_that_is_cancelled_while_its_merge_is_verified_is_not_merged() -> None:
    def prepare(world: World) -> None:
        def cancel_meanwhile(one: Task) -> str:
            world.tasks.change(one.id, cancel, at=0.0)
            return ""

        world.wrong = cancel_meanwhile

    world, result = merge(prepare=prepare)
    assert result == TaskResult("A", Outcome.CANCELLED, "cancelled by the user")
    assert world.status("A") is TaskStatus.CANCELLED
    assert not world.branch.merged
    assert not world.tasks.get("A").remarks


def test_a_check_that_a_stop_ended_sends_nothing_back() -> None:
    def prepare(world: World) -> None:
        def stop(one: Task) -> str:
            world.control.request(now=True)
            return "ended by a signal"

        world.wrong = stop

    world, result = merge(prepare=prepare)
    assert result == TaskResult(
        "A", Outcome.CANCELLED, "stopped while its merge was verified", is_stopped=True
    )
    assert world.status("A") is ACCEPTED
    assert world.tasks.get("A").rejections == 0


def test_merges_take_turns() -> None:
    async def run() -> int:
        world = World(*(task(name, status=ACCEPTED) for name in "ABC"))
        trees = {name: await world.trees.open(name, start="main") for name in "ABC"}
        taker = world.merge()
        await asyncio.gather(*(taker.run(world.tasks.get(name), trees[name]) for name in "ABC"))
        assert world.branch.merged == ["A", "B", "C"]
        return world.branch.most

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Merged("1234567890abcdef"), TaskResult("A", Outcome.COMPLETED, "merged as 1234567890ab")),
        (NotMerged("no"), TaskResult("A", Outcome.WAITING, "accepted, but not merged: no")),
        (
            Conflict(("a",), TIP),
            SentBack("merge conflict with main in a: resolve it in your worktree and commit the merge", TIP),
        ),
        (Unverified("no", TIP), SentBack("after merging with main: no", TIP)),
    ],
)
def test_what_a_merge_makes_of_a_task(result: MergeResult, expected: TaskResult | SentBack) -> None:
    assert judge_merge(result, "A", target="main", is_unchanged=False, is_stopping_now=False) == expected


@pytest.mark.parametrize("status", [status for status in TaskStatus if status is not ACCEPTED])
def test_only_accepted_tasks_are_sent_back(status: TaskStatus) -> None:
    one = task("A", status=status)
    assert send_back(one, SentBack("no", TIP), PIPELINE) == one


@pytest.mark.parametrize("rejections", range(5))
def test_it_is_sent_back_as_often_as_the_pipeline_allows(rejections: int) -> None:
    one = replace(task("A", status=ACCEPTED), rejections=rejections)
    after = send_back(one, SentBack("no", TIP), PIPELINE)
    assert (after.status is TaskStatus.OPEN) == (rejections < PIPELINE.max_rejections)


def test_one_that_is_merged_after_another_does_not_come_back_for_a_fault() -> None:
    """It fails only when it was told of that merge before, and still cannot be merged with it."""

    async def run() -> list[TaskResult | Task]:
        world = World(*(task(name, status=ACCEPTED, base_commit=BASE, rejections=2) for name in "AB"))
        trees = {name: await world.trees.open(name, start="main") for name in "AB"}
        turns = world.merge()
        assert isinstance(await turns.run(world.tasks.get("A"), trees["A"]), TaskResult)
        world.branch.answers["B"] = [Conflict(("a.py",), "c" * 40), Unverified("no", "c" * 40)]
        late = await turns.run(world.tasks.get("B"), trees["B"])
        world.tasks.change("B", lambda now: replace(now, status=ACCEPTED, accepted_commit=JUDGED), at=0.0)
        return [late, await turns.run(world.tasks.get("B"), trees["B"])]

    late, again = asyncio.run(run())
    assert isinstance(late, Task)
    assert (late.status, late.rejections, late.base_commit) == (TaskStatus.OPEN, 2, "c" * 40)
    assert again == TaskResult("B", Outcome.FAILED, "after merging with main: no")


def test_what_was_kept_of_a_worktree_is_told() -> None:
    def prepare(world: World) -> None:
        world.trees.removals["A"] = Removal(is_removed=True, kept=("a.env", "b.env"), place=Path("/kept/A"))

    world, _ = merge(prepare=prepare)
    told = "A: git ignores a.env, b.env, so it was not merged; it is kept in /kept/A"
    assert world.warnings == [told]
    assert ("A", "kept", told) in world.tasks.notes


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("out/result.pdf", False),
        (".env", False),
        ("node_modules/", True),
        ("pkg/node_modules", True),
        ("a/__pycache__/b.pyc", True),
        ("x.pyc", True),
        ("pkg.egg-info/", True),
        ("target/", True),
        ("my.node_modules/", False),
    ],
)
def test_what_programs_make_again_is_not_kept(path: str, expected: bool) -> None:
    assert is_made_again(path) is expected
