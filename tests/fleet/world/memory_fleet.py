"""A fleet in memory, for faces: it answers what it was told to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd
from ralph.domain.fleet.views import FleetLimits, JobView, ScheduleView, WorkerView
from ralph.errors import ServiceAway, UsageError
from ralph.operations.fleet.past import JobPast

REPOSITORY = "https://git.example.com/shop.git"


def job(
    name: str,
    phase: Phase = Phase.RUNNING,
    *,
    outcome: str = "",
    title: str = "",
    reason: str = "",
    since: float = 0.0,
    problem: str = "",
    end: ShiftEnd | None = None,
    **progress: object,
) -> JobView:
    """``outcome``: it has ended so."""
    last = replace(end or ShiftEnd(), outcome=outcome)
    is_open = not (outcome or problem)
    base = JobProgress(phase=phase if is_open else Phase.ENDED, reason=reason, since=since, last=last)
    return JobView(
        spec=JobSpec(id=name, repository=REPOSITORY, title=title, command=("run", "-f", "PROMPT.md")),
        progress=replace(base, **progress),  # type: ignore[arg-type]
        is_open=is_open,
        started_at=since,
        ended_at=None if is_open else since,
        problem=problem,
    )


class MemoryFleet:
    """``asked``: what it was asked, in order. ``away``: why it cannot be reached.
    ``pasts``: of jobs whose record can be read."""

    def __init__(self, *jobs: JobView) -> None:
        self.views = {each.spec.id: each for each in jobs}
        self.beats: dict[str, Beat] = {}
        self.asked: list[tuple[str, ...]] = []
        self.away = ""
        self.pasts: dict[str, JobPast] = {}

    def past(self, view: JobView) -> JobPast:
        """What the record of the job would say."""
        if view.spec.id not in self.pasts:
            message = f"{REPOSITORY} cannot be read"
            raise ServiceAway(message)
        return self.pasts[view.spec.id]

    def put(self, view: JobView) -> None:
        self.views[view.spec.id] = view

    def _reach(self) -> None:
        if self.away:
            raise ServiceAway(self.away, hint="start it")

    async def submit(self, job: JobSpec) -> bool:
        self._reach()
        is_new = job.id not in self.views
        self.views.setdefault(job.id, JobView(spec=job, progress=JobProgress(), is_open=True))
        return is_new

    async def jobs(self, *, limit: int = 200, only_open: bool = False) -> Sequence[JobView]:
        self._reach()
        return [each for each in self.views.values() if each.is_open or not only_open][:limit]

    async def job(self, job_id: str) -> JobView:
        self._reach()
        if job_id not in self.views:
            message = f"there is no job {job_id}"
            raise UsageError(message, hint="`ralph fleet status` lists them")
        return self.views[job_id]

    async def spec(self, job_id: str) -> JobSpec:
        return (await self.job(job_id)).spec

    async def beat(self, job_id: str) -> Beat | None:
        self._reach()
        return self.beats.get(job_id)

    async def _ask(self, job_id: str, *words: str) -> JobView:
        found = await self.job(job_id)
        self.asked.append((job_id, *words))
        return found

    async def steer(self, job_id: str, text: str) -> None:
        await self._ask(job_id, "steer", text)

    async def pause(self, job_id: str) -> None:
        found = await self._ask(job_id, "pause")
        self.put(replace(found, progress=replace(found.progress, is_paused=True)))

    async def unpause(self, job_id: str) -> None:
        found = await self._ask(job_id, "unpause")
        self.put(replace(found, progress=replace(found.progress, is_paused=False)))

    async def stop(self, job_id: str, *, now: bool = False) -> None:
        await self._ask(job_id, "stop_now" if now else "stop")

    async def retry(self, job_id: str) -> None:
        found = await self._ask(job_id, "retry")
        if found.is_open:
            message = f"job {job_id} has not ended"
            raise UsageError(message, hint="stop it first")
        self.put(replace(found, is_open=True, progress=replace(found.progress, phase=Phase.QUEUED)))

    async def schedule(self, schedule_id: str, job: JobSpec, *, cron: str) -> None:
        raise NotImplementedError

    async def schedules(self) -> Sequence[ScheduleView]:
        return ()

    async def unschedule(self, schedule_id: str) -> None:
        raise NotImplementedError

    async def workers(self, labels: Sequence[str] = ()) -> Sequence[WorkerView]:
        return ()

    async def limits(self) -> FleetLimits:
        return FleetLimits()

    async def set_limits(self, limits: FleetLimits) -> None:
        raise NotImplementedError
