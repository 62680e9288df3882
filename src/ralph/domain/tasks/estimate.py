"""What tasks will probably cost, from what like ones have cost, and the most that the limits allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from ralph.domain.loop.budget import Budget
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.history import StageRecord
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus, can_be_reopened
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """Half of the like ones needed at most ``p50``, nine of ten at most ``p90``."""

    p50: float
    p90: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEstimate:
    """Of what is left of a task: ``stages`` are its roles from now on, each with how it is verified. ``like``: how many
    tasks have passed through the same ones. A range that is None is unknown; a limit that is None is not set.
    """

    task: str
    title: str
    stages: tuple[tuple[str, str], ...]
    like: int
    iterations: Range | None
    cost_usd: Range | None
    seconds: Range | None
    most_iterations: int
    most_cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEstimate:
    """``unknown``: tasks without a known cost, which the sums leave out. ``left_out``: tasks that would not be begun,
    because one that they wait for is over and not done."""

    tasks: tuple[TaskEstimate, ...]
    iterations: Range | None
    cost_usd: Range | None
    seconds: Range | None
    unknown: tuple[str, ...]
    most_iterations: int
    most_cost_usd: float | None
    left_out: tuple[str, ...] = ()


def estimate_work(
    tasks: Iterable[Task],
    records: Iterable[StageRecord],
    pipeline: Pipeline,
    budget: Budget,
    *,
    every: Mapping[str, Task],
) -> WorkEstimate:
    """``tasks``: those that are wanted; ``every``: all tasks by their ids; ``budget``: of all the work together."""
    past = _by_task(records)
    open_ones = [task for task in tasks if task.status is TaskStatus.OPEN]
    left_out = tuple(task.id for task in open_ones if _is_blocked(task, every))
    found = tuple(_estimate(task, past, pipeline) for task in open_ones if task.id not in left_out)
    known = [one.cost_usd for one in found if one.cost_usd is not None]
    iterations = sum(one.most_iterations for one in found)
    bounds = [one.most_cost_usd for one in found]
    together = None if None in bounds else sum(bound for bound in bounds if bound is not None)
    return WorkEstimate(
        tasks=found,
        iterations=_sum(one.iterations for one in found),
        cost_usd=_sum(known),
        seconds=_sum(one.seconds for one in found),
        unknown=tuple(one.task for one in found if one.cost_usd is None),
        most_iterations=iterations if budget.iterations is None else min(iterations, budget.iterations),
        most_cost_usd=_smallest(together, budget.cost_usd),
        left_out=left_out,
    )


def _estimate(
    task: Task, past: Mapping[str, Mapping[tuple[str, str], StageSums]], pipeline: Pipeline
) -> TaskEstimate:
    step = pipeline.next_step(task)
    begins = pipeline.roles.index(step.role) if step is not None else 0
    criteria = {role: criteria_for(task, role, pipeline.defaults) for role in pipeline.roles}
    left = tuple((role, str(criteria[role].verification_method)) for role in pipeline.roles[begins:])
    like = [
        [stages[each] for each in left]
        for stages in past.values()
        if all(each in stages and stages[each].accepted for each in left)
    ]
    limits = [criteria[role].max_iterations or 0 for role in pipeline.roles]
    rounds = max(0, pipeline.max_rejections - task.rejections)
    return TaskEstimate(
        task=task.id,
        title=task.title,
        stages=left,
        like=len(like),
        iterations=_range(like, lambda stage: float(stage.iterations)),
        cost_usd=_range(like, lambda stage: stage.cost_usd),
        seconds=_range(like, lambda stage: stage.seconds),
        most_iterations=max(0, sum(limits[begins:]) - task.used) + rounds * sum(limits),
        most_cost_usd=task.budget.cost_usd,
    )


def _is_blocked(task: Task, every: Mapping[str, Task]) -> bool:
    """By a task that is over and not done, directly or not."""
    seen: set[str] = set()
    waiting = list(task.dependencies)
    while waiting:
        name = waiting.pop()
        if name in seen or (need := every.get(name)) is None:
            continue
        seen.add(name)
        if can_be_reopened(need):
            return True
        waiting += need.dependencies if need.status is not TaskStatus.DONE else ()
    return False


# --- what past tasks used ---


@dataclass(slots=True)
class StageSums:
    """All visits of one task to one stage. ``cost_usd`` None: not known of every visit."""

    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0
    accepted: bool = False

    def add(self, record: StageRecord) -> None:
        self.iterations += record.iterations
        self.seconds += record.seconds
        known = self.cost_usd is not None and record.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (record.cost_usd or 0.0) if known else None
        self.accepted |= record.accepted


def _by_task(records: Iterable[StageRecord]) -> dict[str, dict[tuple[str, str], StageSums]]:
    found: dict[str, dict[tuple[str, str], StageSums]] = {}
    for record in records:
        stages = found.setdefault(record.task_id, {})
        stages.setdefault((record.role, record.method), StageSums()).add(record)
    return found


def _range(like: Sequence[Sequence[StageSums]], figure: Callable[[StageSums], float | None]) -> Range | None:
    """Over the tasks of which it is known."""
    sums = []
    for stages in like:
        figures = [figure(stage) for stage in stages]
        if None not in figures:
            sums.append(sum(one for one in figures if one is not None))
    if not sums:
        return None
    sums.sort()
    return Range(_percentile(sums, 0.5), _percentile(sums, 0.9))


def _percentile(sorted_values: Sequence[float], part: float) -> float:
    return sorted_values[max(0, math.ceil(part * len(sorted_values)) - 1)]


def _sum(ranges: Iterable[Range | None]) -> Range | None:
    """Of those that are known. Not all of them will be expensive at once: the real p90 is below this one."""
    known = [one for one in ranges if one is not None]
    return Range(sum(one.p50 for one in known), sum(one.p90 for one in known)) if known else None


def _smallest(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
