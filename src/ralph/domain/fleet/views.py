"""What faces show of the fleet."""

from __future__ import annotations

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """``is_open``: it has not ended. ``problem``: what the server says of a workflow that failed by itself. ``sealed``: why
    nothing of it can be read here; empty: it can."""

    spec: JobSpec
    progress: JobProgress
    is_open: bool
    started_at: float = 0.0
    ended_at: float | None = None
    problem: str = ""
    sealed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """A worker that asked for work lately."""

    name: str
    labels: tuple[str, ...] = ()
    seen_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    id: str
    spec: JobSpec
    cron: str
    is_paused: bool = False
    next_at: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLimits:
    """Over all jobs and machines. ``sessions``: at most so many at a time, by the name of an agent's account."""

    sessions: tuple[tuple[str, int], ...] = ()
    max_cost: float | None = None
    spent: float = 0.0
    in_use: tuple[tuple[str, int], ...] = ()
