"""What tasks will probably cost, and the most that the limits allow."""

from __future__ import annotations

import pytest

from ralph.domain.loop.budget import Budget
from ralph.domain.tasks.completion import CompletionCriteria, TaskCompletionSpec
from ralph.domain.tasks.estimate import Range, WorkEstimate, estimate_work
from ralph.domain.tasks.history import StageRecord
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskBudget, TaskStatus

PIPELINE = Pipeline(roles=("coder", "reviewer"), max_rejections=1)


def task(name: str = "T", **more: object) -> Task:
    command = CompletionCriteria(verification_config={"command": "make test"})
    spec = TaskCompletionSpec(outcome="o", acceptance_criteria=["c"], criteria={"coder": command})
    return Task(id=name, title=f"Do {name}", completion_spec=spec, **more)  # type: ignore[arg-type]


def stage(
    name: str, role: str, cost: float | None, *, accepted: bool = True, iterations: int = 1
) -> StageRecord:
    method = {"coder": "external", "reviewer": "semantic"}[role]
    return StageRecord(
        task_id=name, role=role, method=method, accepted=accepted, iterations=iterations, at=0.0,
        seconds=60.0, cost_usd=cost,
    )  # fmt: skip


def done(name: str, coder: float | None, reviewer: float | None = 1.0) -> list[StageRecord]:
    return [stage(name, "coder", coder, iterations=2), stage(name, "reviewer", reviewer)]


TEN = [record for number in range(1, 11) for record in done(f"P-{number}", float(number))]


def estimate(*tasks: Task, past: list[StageRecord], budget: Budget | None = None) -> WorkEstimate:
    every = {one.id: one for one in tasks}
    return estimate_work(tasks, past, PIPELINE, budget or Budget(), every=every)


@pytest.mark.parametrize(
    ("past", "like", "cost"),
    [
        pytest.param([], 0, None, id="nothing was done yet"),
        pytest.param(TEN, 10, Range(6.0, 10.0), id="half cost at most 5, nine of ten at most 9, and 1 for the review"),
        pytest.param(done("P", 2.0), 1, Range(3.0, 3.0), id="one like it"),
        pytest.param(done("P", None), 1, None, id="what one cost is not known"),
        pytest.param([*done("P", None), *done("Q", 4.0)], 2, Range(5.0, 5.0), id="one is not known"),
        pytest.param([stage("P", "coder", 2.0)], 0, None, id="it was not reviewed"),
        pytest.param([*done("P", 2.0)[:1], stage("P", "reviewer", 1.0, accepted=False)], 0, None, id="refused"),
        pytest.param(
            [*done("P", 2.0), stage("P", "reviewer", 3.0, accepted=False), stage("P", "coder", 1.0)],
            1, Range(7.0, 7.0), id="it was sent back once: both visits count",
        ),
    ],
)  # fmt: skip
def test_like_tasks_tell_what_one_will_cost(past: list[StageRecord], like: int, cost: Range | None) -> None:
    found = estimate(task(), past=past)

    (one,) = found.tasks
    assert (one.like, one.cost_usd) == (like, cost)
    assert found.cost_usd == cost
    assert found.unknown == (() if cost is not None else ("T",))


def test_only_what_is_left_of_a_task_is_estimated() -> None:
    (one,) = estimate(task(stage="reviewer", used=2), past=TEN).tasks

    assert one.stages == (("reviewer", "semantic"),)
    assert one.cost_usd == Range(1.0, 1.0)
    assert one.most_iterations == (5 - 2) + (15 + 5)  # and once more from the beginning, if it is sent back


@pytest.mark.parametrize(
    ("budget", "own", "sessions", "cost"),
    [
        (Budget(), None, 80, None),
        (Budget(iterations=50), None, 50, None),
        (Budget(cost_usd=20.0), None, 80, 20.0),
        (Budget(cost_usd=20.0), 3.0, 80, 6.0),
        (Budget(cost_usd=5.0), 3.0, 80, 5.0),
        (Budget(), 3.0, 80, 6.0),
    ],
)
def test_the_limits_are_the_upper_bound(
    budget: Budget, own: float | None, sessions: int, cost: float | None
) -> None:
    tasks = [task(name, budget=TaskBudget(cost_usd=own)) for name in "AB"]
    found = estimate(*tasks, past=TEN, budget=budget)

    assert (found.most_iterations, found.most_cost_usd) == (sessions, cost)
    assert found.cost_usd == Range(12.0, 20.0)


def test_what_would_not_be_begun_is_left_out() -> None:
    tasks = [
        task("DONE", status=TaskStatus.DONE),
        task("FAILED", status=TaskStatus.FAILED),
        task("BLOCKED", dependencies=("FAILED",)),
        task("BEHIND", dependencies=("BLOCKED",)),
        task("NEXT", dependencies=("DONE",)),
        task("LATER", dependencies=("NEXT",)),
    ]
    found = estimate(*tasks, past=TEN)

    assert [one.task for one in found.tasks] == ["NEXT", "LATER"]
    assert found.left_out == ("BLOCKED", "BEHIND")
