"""What a worker is told to do for a job in one shift, what it tells while it works, and how the shift ended."""

from __future__ import annotations

from ralph.domain.fleet.bounds import between, first_of
from ralph.domain.fleet.job import JobSpec
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.handover import Want
from ralph.values import dataclass, replace


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
    that were lost with their worker had spent. ``may_merge``: it is this job's turn to move its base; such a shift has no
    session. ``retry`` counts how often a person wanted the job to continue after its end.
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
    retry: int = 0
    tells: bool = False  # the job hears that a worker has it
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
    retry: int = 0  # as in its order
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
    merged: str = ""  # the commit of the base that has it; empty: not merged. Of any shift so far
    agent: str = ""  # that the run uses
    exit_code: int | None = None  # of a run that has ended
    heard: int = 0  # the number of the newest note that went into a prompt
    busy: bool = False
    lost_cost: float = 0.0  # spent in this shift, of which nothing was saved
    lost_tokens: int = 0


def answers(end: ShiftEnd, order: ShiftOrder) -> bool:
    """Was what is ordered done before, so that only its result was lost on the way? How a job ended once is no answer to
    somebody who wants it to continue since."""
    return end.turn > order.turn and end.retry >= order.retry


LONGEST_WAIT = 366 * 86_400.0
MUCH = 10**12
_LONGEST_WORD = 200
_LONGEST_TEXT = 2_000


def sane(end: ShiftEnd) -> ShiftEnd:
    """As a job can take it, whatever a record or a worker says: timers, sums and lists must bear it."""
    outcome = end.outcome if not end.outcome or end.outcome in tuple(Outcome) else Outcome.FAILED.value
    want = end.want if not end.want or end.want in tuple(Want) else Want.SESSION.value
    return replace(
        end,
        turn=between(0, end.turn, MUCH),
        retry=between(0, end.retry, MUCH),
        worker=first_of(end.worker, _LONGEST_WORD),
        run_id=first_of(end.run_id, _LONGEST_WORD),
        outcome=outcome,
        want=want,
        seconds=between(0.0, end.seconds, LONGEST_WAIT),
        reason=first_of(end.reason, _LONGEST_TEXT),
        hint=first_of(end.hint, _LONGEST_TEXT),
        iteration=between(0, end.iteration, MUCH),
        maximum=None if end.maximum is None else between(0, end.maximum, MUCH),
        cost=None if end.cost is None else between(0.0, end.cost, MUCH),
        tokens=between(0, end.tokens, MUCH),
        run_seconds=between(0.0, end.run_seconds, MUCH),
        decision=first_of(end.decision, _LONGEST_WORD),
        commit=first_of(end.commit, _LONGEST_WORD),
        merged=first_of(end.merged, _LONGEST_WORD),
        agent=first_of(end.agent, _LONGEST_WORD),
        exit_code=None if end.exit_code is None else between(0, end.exit_code, 255),
        heard=between(0, end.heard, MUCH),
        lost_cost=between(0.0, end.lost_cost, MUCH),
        lost_tokens=between(0, end.lost_tokens, MUCH),
    )


def sane_beat(beat: Beat) -> Beat:
    """Without its lines: of a worker that is gone, only what it had spent is of use."""
    return replace(
        beat,
        worker=first_of(beat.worker, _LONGEST_WORD),
        turn=between(0, beat.turn, MUCH),
        iteration=between(0, beat.iteration, MUCH),
        cost=between(0.0, beat.cost, MUCH),
        tokens=between(0, beat.tokens, MUCH),
        first_line=0,
        lines=(),
    )
