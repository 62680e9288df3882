"""How ``ralph work`` ended, and what past stages teach."""

from __future__ import annotations

import pytest

from ralph.domain.loop.budget import PartBudget
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.history import StageRecord
from ralph.domain.tasks.statistics import figures, spark
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tasks.work_result import TaskResult, outcome_of, reason_of, result_of_left


def task(name: str, status: TaskStatus = TaskStatus.OPEN) -> Task:
    return Task(id=name, title=f"Do {name}", status=status)


DONE = TaskResult("A", Outcome.COMPLETED, "merged")
FAILED = TaskResult("B", Outcome.FAILED, "no")
UNFINISHED = TaskResult("C", Outcome.EXHAUSTED, "budget")
STOPPED = TaskResult("D", Outcome.CANCELLED, "stopped", is_stopped=True)
WAITING = TaskResult("E", Outcome.WAITING, "dirty")


@pytest.mark.parametrize(
    ("results", "left", "is_stopped", "limit", "expected"),
    [
        ([], [], False, "", Outcome.COMPLETED),
        ([DONE], [], False, "", Outcome.COMPLETED),
        ([DONE, FAILED], ["X"], False, "", Outcome.EXHAUSTED),
        ([UNFINISHED], ["C"], False, "", Outcome.EXHAUSTED),
        ([DONE], ["X"], False, "", Outcome.WAITING),
        ([WAITING], [], False, "", Outcome.WAITING),
        ([DONE], ["X"], True, "", Outcome.CANCELLED),
        ([DONE], [], True, "", Outcome.COMPLETED),
        ([STOPPED], ["D"], True, "", Outcome.CANCELLED),
        ([STOPPED], [], False, "", Outcome.EXHAUSTED),
        ([DONE], ["X"], False, "budget reached", Outcome.EXHAUSTED),
        ([DONE], [], False, "budget reached", Outcome.COMPLETED),
        ([WAITING], [], False, "budget reached", Outcome.EXHAUSTED),
    ],
)
def test_the_outcome_of_all_follows_from_each(
    results: list[TaskResult], left: list[str], is_stopped: bool, limit: str, expected: Outcome
) -> None:
    assert outcome_of(results, left=left, is_stopped=is_stopped, limit=limit) is expected


@pytest.mark.parametrize(
    ("is_stopped", "limit", "expected"),
    [
        (True, "", Outcome.CANCELLED),
        (False, "budget reached", Outcome.EXHAUSTED),
        (True, "budget reached", Outcome.EXHAUSTED),
    ],
)
def test_a_watch_is_never_done_and_so_can_be_resumed(is_stopped: bool, limit: str, expected: Outcome) -> None:
    assert outcome_of([DONE], left=[], is_stopped=is_stopped, limit=limit, stays=True) is expected


def test_the_reason_counts_and_names_what_was_not_begun() -> None:
    left = [result_of_left(task(name), [], ended_by="stopped by the user") for name in "XY"]
    told = reason_of([DONE, FAILED, FAILED], left=left)
    assert told == "1 done; 2 failed; 2 not begun: X, Y"
    assert reason_of([]) == "no task is left to do"
    assert reason_of([], left=left[:1]) == "stopped by the user"
    assert reason_of([STOPPED]) == "1 stopped"
    assert reason_of([STOPPED], is_single=True) == "stopped by the user"
    cancelled = TaskResult("E", Outcome.CANCELLED, "cancelled by the user")
    assert reason_of([STOPPED, cancelled]) == "1 stopped; 1 cancelled"


FAILED_BEFORE = task("A", TaskStatus.FAILED)
CANCELLED_BEFORE = task("B", TaskStatus.CANCELLED)
STILL_OPEN = task("C", TaskStatus.OPEN)


@pytest.mark.parametrize(
    ("needs", "ended_by", "word", "why"),
    [
        ([FAILED_BEFORE], "", "blocked", "waits for A, which failed"),
        ([CANCELLED_BEFORE], "", "blocked", "waits for B, which was cancelled"),
        ([STILL_OPEN, FAILED_BEFORE], "budget reached", "blocked", "waits for A, which failed"),
        ([STILL_OPEN], "budget reached", "waiting", "waits for C"),
        ([], "budget reached", "not begun", "budget reached"),
        ([], "", "not begun", "another run works on it"),
    ],
)
def test_what_was_left_says_why_and_is_never_done(
    needs: list[Task], ended_by: str, word: str, why: str
) -> None:
    left = result_of_left(task("X"), needs, ended_by=ended_by)

    assert (left.word, left.reason, left.is_begun) == (word, why, False)
    assert outcome_of([left], left=["X"], is_stopped=False) is Outcome.WAITING
    assert word in reason_of([DONE], left=[left])


def test_a_part_ends_with_the_whole() -> None:
    state = LoopState(spend=Spend(2.0))
    assert PartBudget(cost_usd=3.0).exceeded(state) is None
    assert PartBudget(cost_usd=1.0, whole=lambda: "all is spent").exceeded(state) != "all is spent"
    assert PartBudget(cost_usd=3.0, whole=lambda: "all is spent").exceeded(state) == "all is spent"


def test_what_was_used_before_counts() -> None:
    state = LoopState(spend=Spend(2.0), seconds=5.0)
    before = Spend(1.5, seconds=6.0)
    assert PartBudget(cost_usd=3.0, before=before).exceeded(state) == "budget reached: $3.50 of $3.00"
    assert PartBudget(seconds=10.0, before=before).exceeded(state) == "time is over: 10 s"
    assert PartBudget(seconds=12.0, cost_usd=4.0, before=before).exceeded(state) is None


def record(
    role: str, method: str, iterations: int, *, accepted: bool = True, cost: float | None = None
) -> StageRecord:
    return StageRecord(
        task_id="T",
        at=1.0,
        role=role,
        method=method,
        accepted=accepted,
        iterations=iterations,
        seconds=10.0,
        cost_usd=cost,
        tokens=100,
        reason="",
        run_id="r",
    )


def test_figures_are_means_by_role_and_method_in_the_order_of_the_roles() -> None:
    rows = figures(
        [
            record("qa", "multi_stage", 2),
            record("coder", "external", 1, cost=1.0),
            record("coder", "external", 3, accepted=False, cost=3.0),
            record("coder", "semantic", 1),
        ],
        ("coder", "qa"),
    )

    assert [(row.role, row.method) for row in rows] == [
        ("coder", "external"),
        ("coder", "semantic"),
        ("qa", "multi_stage"),
    ]
    first = rows[0]
    assert (first.stages, first.accepted, first.iterations, first.cost_usd) == (2, 1, 2.0, 2.0)
    assert first.counts == (1, 0, 1)
    assert rows[1].cost_usd is None


def test_a_little_plot_has_a_bar_for_each_number() -> None:
    assert spark((1, 0, 4)) == "▃ █"
    assert spark(()) == ""
    assert spark((0, 0)) == ""
