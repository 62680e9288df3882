"""What a shift needs from the world, and what operations ask of the fleet's server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.views import FleetLimits, JobView, ScheduleView, WorkerView
from ralph.errors import RalphError
from ralph.values import dataclass


class Fenced(Exception):
    """Another worker holds the job: what was done here does not count."""


class BaseMoved(Exception):
    """Somebody else has moved the base: the merge must be made again."""


class FleetSpent(Exception):
    """All jobs together have spent what they may."""


class OtherVersion(RalphError):
    """This worker does not understand the job; another one may."""

    exit_code = 4


# --- a worker's side ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the remote has of a job. ``end``: of its newest shift; None: nobody has worked on it. ``project``: where ralph
    works on it here."""

    project: Path
    end: ShiftEnd | None = None


class Seat(Protocol):
    """A job's place on this machine: a clone with the job's branch, its uncommitted files and its record."""

    async def open(self) -> Found:
        """Fetch what the remote has, and put it here unless it is here already. Raises RalphError with clear words if the
        repository or the base is not there, or we may not read it."""
        ...

    async def take(self) -> None:
        """Become the job's holder, unless this worker is: whoever held it can push no more. Raises Fenced if another was
        faster."""
        ...

    async def catch_up(self) -> None:
        """Bring the base here as the remote has it now: this job's turn to merge has come."""
        ...

    async def save(self, end: ShiftEnd) -> ShiftEnd:
        """Push branch, record and, if it was merged, base: all or nothing. Gives ``end`` with the commits that were pushed.
        Raises Fenced if another worker holds the job, BaseMoved if somebody else has moved the base."""
        ...

    async def forget(self) -> None:
        """Throw away what is here and not on the remote."""
        ...


class Seats(Protocol):
    def of(self, job: JobSpec) -> Seat: ...


class Stopping(Protocol):
    """A person wants the job to stop, or this worker does not have it any more."""

    @property
    def is_now(self) -> bool: ...

    async def requested(self) -> None: ...

    async def requested_now(self) -> None: ...


class ShiftProcess(Protocol):
    """A ralph of its own that does one shift in a seat, and dies with this process."""

    async def run(
        self,
        order: ShiftOrder,
        project: Path,
        *,
        run_id: str,
        beat: Callable[[Beat], None],
        stopping: Stopping,
    ) -> ShiftEnd: ...


class Ledger(Protocol):
    """What all jobs share: places at an agent's account, and money. ``turn``: of the shift; ``cost``: of the whole job."""

    async def enter(self, job: JobSpec, *, turn: int, cost: float) -> str:
        """May a session of this job begin? Empty: yes, and it holds a place until ``leave``. Else why not yet; raises
        FleetSpent if there is no money left."""
        ...

    async def leave(self, job: JobSpec, *, turn: int, cost: float) -> None: ...


RunShift = Callable[[ShiftOrder, Callable[[Beat], None], Stopping], Awaitable[ShiftEnd]]
"""One shift of a job; raises RalphError if this machine cannot do it."""


# --- a submitter's side ------------------------------------------------------------------------------------


class Fleet(Protocol):
    """The server, in ralph's words. Everything raises ServiceAway if it cannot be reached, UsageError for what is not there."""

    async def submit(self, job: JobSpec) -> bool:
        """False: a job with this id was submitted before, and this one changes nothing."""
        ...

    async def jobs(self, *, limit: int = 200, only_open: bool = False) -> Sequence[JobView]: ...

    async def job(self, job_id: str) -> JobView: ...

    async def spec(self, job_id: str) -> JobSpec:
        """Word for word as it was submitted: a view may have it shortened."""
        ...

    async def beat(self, job_id: str) -> Beat | None:
        """The newest sign of life of a session under way; None: there is none."""
        ...

    async def steer(self, job_id: str, text: str) -> None: ...

    async def pause(self, job_id: str) -> None: ...

    async def unpause(self, job_id: str) -> None: ...

    async def stop(self, job_id: str, *, now: bool = False) -> None: ...

    async def retry(self, job_id: str) -> None:
        """Continue a job that has ended without being completed."""
        ...

    async def schedule(self, schedule_id: str, job: JobSpec, *, cron: str) -> None: ...

    async def schedules(self) -> Sequence[ScheduleView]: ...

    async def unschedule(self, schedule_id: str) -> None: ...

    async def workers(self, labels: Sequence[str] = ()) -> Sequence[WorkerView]:
        """Those that would take a job with these labels."""
        ...

    async def limits(self) -> FleetLimits: ...

    async def set_limits(self, limits: FleetLimits) -> None: ...
