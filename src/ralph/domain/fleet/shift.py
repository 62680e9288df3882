"""What a worker is told to do for a job in one shift, what it tells while it works, and how the shift ended."""

from __future__ import annotations

from dataclasses import dataclass

from ralph.domain.fleet.job import JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """A note for the next prompt. ``number`` tells it from others with the same words: each goes in once."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftOrder:
    """One shift of a job: at most one session.

    ``turn`` counts the shifts of a job that ended well: a worker that finds a record of a later one has nothing to do but to
    say how that one ended. ``waited``: seconds since the shift before, which count as the run's time. ``lost_*``: what sessions
    that were lost with their worker had spent. ``may_merge``: it is this job's turn to move its base.
    """

    job: JobSpec
    turn: int
    waited: float = 0.0
    lost_cost: float = 0.0
    lost_tokens: int = 0
    may_merge: bool = False
    resumes: bool = (
        False  # a person wants it to continue after its end: standstill and faults count from zero
    )
    notes: tuple[Steer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A sign of life: what the session has spent so far, and the newest lines of the console.

    ``first_line``: the number of the first of ``lines`` in this shift.
    """

    worker: str = ""
    turn: int = 0
    iteration: int = 0
    cost: float = 0.0
    tokens: int = 0
    first_line: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftEnd:
    """How a shift ended; it is on the remote then. All figures are totals of the run.

    ``outcome``: the run has ended (a value of ``Outcome``); empty: it continues, and ``want`` says with what (of ``Want``),
    after ``seconds``. ``decision``: of the last iteration. ``busy``: this worker had no place, and nothing was done.
    """

    turn: int = 0
    worker: str = ""
    run_id: str = ""
    outcome: str = ""
    want: str = ""
    seconds: float = 0.0
    reason: str = ""
    hint: str = ""
    iteration: int = 0
    maximum: int | None = None
    cost: float | None = None
    tokens: int = 0
    run_seconds: float = 0.0
    decision: str = ""
    commit: str = ""  # the tip of the job's branch
    merged: str = ""  # the commit of the base that has it; empty: not merged
    exit_code: int | None = None  # of a run that has ended
    heard: int = 0  # the number of the newest note that went into a prompt
    busy: bool = False
