"""What a job does next, and what becomes of it after each shift. Nothing here that the loop itself decides: no iteration, no
limit, no feedback; only machines that come and go, people who steer, and other jobs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ralph.domain.fleet.bounds import between, first_of
from ralph.domain.fleet.exits import INTERRUPTED
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, MergeTurn, Phase
from ralph.domain.fleet.queues import label_queue, worker_queue
from ralph.domain.fleet.shift import LONGEST_WAIT, MUCH, Beat, ShiftEnd, ShiftOrder, Steer
from ralph.domain.loop.decision import STOPPED, Outcome
from ralph.domain.loop.handover import Want
from ralph.values import dataclass, replace

STICKY_WAIT = 5.0
"""Seconds that a job waits for the worker that had it last."""
LONGEST_NOTE = 16_000
"""Bytes of one note."""
LONGEST_NOTES = 32_000
"""Bytes of all notes that are not in a prompt yet: a job must stay small on the server."""
MANY_LOSSES = 8
"""Shifts in a row that were lost, or failed on their machine: it is the job that does it, and each one may have cost money."""
_SHORTEST_BEAT = 2.0
"""Seconds: workers say each second that they are there."""
_LONGEST_BEAT = 600.0
_FIRST_DELAY = 5.0
_LONGEST_DELAY = 300.0
_CALM_LOSSES = 2
"""So many lost workers in a row may be chance; after that the job itself may be what takes them down."""

_FATAL = frozenset({"UsageError", "ConfigError", "UntrustedProject", "ServiceRefused"})
"""No other worker can do better."""
FENCED = "Fenced"
SPENT = "FleetSpent"
WORKER_LEFT = "WorkerLeft"
"""It ended in good order, in the middle of a session."""
_PATIENT = frozenset({"ServiceAway", "OtherVersion", WORKER_LEFT})
"""To wait is right: no session was begun in vain."""
JOBS_OWN = _FATAL | {FENCED, SPENT}
"""What such an error says is nothing about the machine."""
KINDS = JOBS_OWN | _PATIENT
"""Errors that are told apart; of any other, only its words are looked at."""


# --- what is next ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AwaitNeeds:
    """Until the jobs that it needs are merged."""


@dataclass(frozen=True, slots=True)
class AwaitUnpause:
    """Until its user lets it continue."""


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Until it may merge."""


@dataclass(frozen=True, slots=True)
class DoShift:
    """``patience``: seconds that its order waits in this queue; None: as long as it takes."""

    queue: str
    patience: float | None


@dataclass(frozen=True, slots=True)
class Finish:
    """There is nothing left to do."""


Step = AwaitNeeds | AwaitUnpause | Sleep | AwaitTurn | DoShift | Finish


def next_step(spec: JobSpec, progress: JobProgress, now: float) -> Step:
    if progress.phase is Phase.ENDED:
        return Finish()
    if progress.unmet:
        return AwaitNeeds()
    if progress.is_paused:
        return AwaitUnpause()
    if progress.until > now:
        return Sleep(progress.until - now)
    if not progress.worker:
        # One that wants to merge finds a worker first: nobody else could merge while it waits for one.
        return DoShift(label_queue(spec.labels), None)
    if progress.last.want == Want.MERGE and not progress.may_merge:
        return AwaitTurn()
    # After a loss the worker may be well and only the server was away: it may have the session still.
    return DoShift(worker_queue(progress.worker), _long_wait(spec) if progress.faults else STICKY_WAIT)


def heartbeat_of(spec: JobSpec) -> float:
    """Seconds without a sign of life until its worker counts as gone."""
    return between(_SHORTEST_BEAT, spec.heartbeat, _LONGEST_BEAT)


def farewell_after(spec: JobSpec) -> float:
    """Seconds that a worker keeps a session whose order is gone on the server: longer than the next order waits for it."""
    return _long_wait(spec) + 10.0


def _long_wait(spec: JobSpec) -> float:
    return max(STICKY_WAIT, heartbeat_of(spec) / 2)


def leaves_line(progress: JobProgress, step: Step) -> bool:
    """Whether others may merge before this step begins. Nobody holds up the line for their own delay, and one turn is for one
    shift."""
    match progress.merge_turn:
        case MergeTurn.NONE:
            return False
        case MergeTurn.ASKED:
            return not isinstance(step, AwaitTurn)
        case MergeTurn.HERE:
            return not (isinstance(step, DoShift) and step.patience is not None)
        case MergeTurn.OVER:
            return True


def entered(progress: JobProgress, step: Step, now: float) -> JobProgress:
    """The job as it is during this step."""
    if isinstance(step, Finish):
        return progress
    if isinstance(step, DoShift):
        # After a loss nobody knows whether the worker is there: it says so if it is.
        is_sure = progress.worker and not progress.faults
        phase = Phase.MERGING if progress.may_merge else Phase.RUNNING if is_sure else Phase.QUEUED
        began = _in_phase(progress, phase, now)
        last = progress.last
        if last.want == Want.WAIT:
            # Whatever delays it from here on is not a wait of the run's own.
            last = replace(last, want=Want.SESSION.value, seconds=0.0)
        return replace(began, since=now, until=0.0, reason=began.reason if began.faults else "", last=last)
    phase = {
        AwaitNeeds: Phase.NEEDS,
        AwaitUnpause: Phase.PAUSED,
        Sleep: Phase.WAITING,
        AwaitTurn: Phase.MERGING,
    }[type(step)]
    turn = MergeTurn.ASKED if isinstance(step, AwaitTurn) else progress.merge_turn
    return replace(_in_phase(progress, phase, now), merge_turn=turn)


def withdraws_order(progress: JobProgress) -> bool:
    """A job that is paused while no worker has it begins nothing."""
    return progress.is_paused and progress.phase is Phase.QUEUED and not progress.worker


def order_of(spec: JobSpec, progress: JobProgress) -> ShiftOrder:
    """For a job that has entered the step."""
    return ShiftOrder(
        job=spec,
        turn=progress.turn,
        waited=progress.waited,
        lost_cost=progress.lost_cost,
        lost_tokens=progress.lost_tokens,
        may_merge=progress.may_merge,
        resumes=progress.resumes,
        retry=progress.retries,
        tells=progress.phase is Phase.QUEUED,
        notes=progress.notes,
    )


def _in_phase(progress: JobProgress, phase: Phase, now: float) -> JobProgress:
    """What passes in a wait of the run's own, or in a pause of it, is the run's time, as on one machine."""
    waited = progress.waited
    if _is_own_time(progress):
        waited += max(0.0, now - progress.since)
        return replace(progress, phase=phase, since=now, waited=waited)
    return replace(progress, phase=phase, since=progress.since if phase is progress.phase else now)


def _is_own_time(progress: JobProgress) -> bool:
    if progress.phase is Phase.PAUSED:
        return progress.turn > 0
    return progress.phase is Phase.WAITING and progress.last.want == Want.WAIT


# --- what becomes of it ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A shift that a worker could not do. ``kind``: the name of the error's class. ``after``: seconds to wait first, if
    somebody said so. ``cost`` and ``tokens``: what was spent until then."""

    kind: str
    message: str
    hint: str = ""
    exit_code: int = 3
    after: float = 0.0
    cost: float = 0.0
    tokens: int = 0


def sane_fault(fault: Fault) -> Fault:
    """As a job can take it, whatever a worker says."""
    return replace(
        fault,
        kind=first_of(fault.kind, 200),
        message=first_of(fault.message, 2_000),
        hint=first_of(fault.hint, 2_000),
        exit_code=between(0, fault.exit_code, 255),
        after=between(0.0, fault.after, LONGEST_WAIT),
        cost=between(0.0, fault.cost, MUCH),
        tokens=between(0, fault.tokens, MUCH),
    )


def begin(spec: JobSpec, progress: JobProgress, now: float) -> JobProgress:
    """At the start of its first workflow run. Nobody has looked at what it needs yet."""
    if progress.since:
        return progress
    return replace(progress, since=now, unmet=spec.needs if not progress.turn else progress.unmet)


def again(progress: JobProgress) -> JobProgress:
    """A job that has ended, and that a person wants to continue."""
    last = replace(progress.last, outcome="", want="", seconds=0.0, reason="", hint="", exit_code=None)
    return replace(
        progress,
        phase=Phase.QUEUED,
        since=0.0,
        until=0.0,
        reason="",
        last=last,
        faults=0,
        losses=0,
        is_paused=False,
        resumes=progress.turn > 0,
        retries=progress.retries + 1,
        merge_turn=MergeTurn.NONE,
        is_stopping=False,
        stop_now=False,
    )


def after_shift(progress: JobProgress, end: ShiftEnd, now: float) -> JobProgress:
    progress = _turn_over(progress)
    if end.busy:
        return replace(progress, worker="")
    if end.turn <= progress.turn:
        return _after_nothing(progress, end, now)
    done = replace(
        progress,
        turn=end.turn,
        worker=end.worker,
        reason=end.reason,
        last=end,
        waited=0.0,
        lost_cost=0.0,
        lost_tokens=0,
        faults=0,
        losses=0,
        resumes=False,
        notes=tuple(note for note in progress.notes if note.number > end.heard),
    )
    if end.outcome:
        return replace(done, phase=Phase.ENDED, since=now)
    if end.want == Want.WAIT:
        return replace(done, until=now + end.seconds)
    return done


def _after_nothing(progress: JobProgress, end: ShiftEnd, now: float) -> JobProgress:
    """It could not even begin: no place at the agent's account, for instance; or nothing of it was saved. The run's time stands
    still meanwhile."""
    seconds = max(end.seconds, 1.0)
    return replace(
        progress,
        worker=end.worker,
        until=now + seconds,
        reason=end.reason,
        lost_cost=progress.lost_cost + end.lost_cost,
        lost_tokens=progress.lost_tokens + end.lost_tokens,
    )


def after_nobody(progress: JobProgress) -> JobProgress:
    """The worker that had it last did not ask for it in time."""
    return replace(_turn_over(progress), worker="")


def after_loss(progress: JobProgress, beat: Beat, now: float) -> JobProgress:
    """No sign of life any more. What the session had spent is spent, whoever continues."""
    worker = beat.worker or progress.worker
    where = f" on {worker}" if worker else ""
    after = replace(
        _turn_over(progress),
        worker=worker,
        lost_cost=progress.lost_cost + beat.cost,
        lost_tokens=progress.lost_tokens + beat.tokens,
        lost_shifts=progress.lost_shifts + 1,
        faults=progress.faults + 1,
        losses=progress.losses + 1,
        reason=f"the session{where} was lost",
    )
    if after.losses >= MANY_LOSSES:
        why = f"its session was lost {after.losses} times in a row, the last time{where}"
        return _ended(after, Outcome.FAILED, why, now, hint=_LOOK, exit_code=4)
    return replace(after, until=now + _delay(after.faults - _CALM_LOSSES))


def after_fault(progress: JobProgress, fault: Fault, now: float) -> JobProgress:
    has_left, is_fenced = fault.kind == WORKER_LEFT, fault.kind == FENCED
    after = replace(
        _turn_over(progress),
        worker="",
        lost_cost=progress.lost_cost + fault.cost,
        lost_tokens=progress.lost_tokens + fault.tokens,
        lost_shifts=progress.lost_shifts + has_left,
        faults=progress.faults + (not has_left),
        losses=progress.losses + (fault.kind not in _PATIENT),
        reason=fault.message,
    )
    if fault.kind == SPENT:
        return _ended(after, Outcome.EXHAUSTED, fault.message, now, hint=fault.hint, exit_code=1)
    if fault.kind in _FATAL:
        return _ended(after, Outcome.FAILED, fault.message, now, hint=fault.hint, exit_code=fault.exit_code)
    if after.losses >= MANY_LOSSES:
        why = f"no worker could do it, {after.losses} times in a row; the last time: {fault.message}"
        hint, exit_code = fault.hint or _LOOK, fault.exit_code
        return _ended(after, Outcome.FAILED, why, now, hint=hint, exit_code=exit_code)
    if has_left:
        return after
    delay = _delay(after.faults - _CALM_LOSSES if is_fenced else after.faults)
    return replace(after, until=now + max(fault.after, delay))


_LOOK = "the consoles of the workers may say why; `ralph fleet retry` tries again"


def _turn_over(progress: JobProgress) -> JobProgress:
    """A turn to merge is for one shift, however that ends."""
    return replace(progress, merge_turn=MergeTurn.OVER) if progress.may_merge else progress


def after_stop(progress: JobProgress, now: float) -> JobProgress:
    """A person said stop while nothing ran."""
    return _ended(progress, Outcome.CANCELLED, STOPPED, now, hint="", exit_code=INTERRUPTED)


def after_needed(progress: JobProgress, job: str, *, is_merged: bool) -> JobProgress:
    """A job that this one needs has ended. One that was not merged may be retried: this one waits on."""
    if job not in progress.unmet:
        return progress
    others = tuple(each for each in progress.stuck if each != job)
    if not is_merged:
        return replace(progress, stuck=(*others, job))
    return replace(progress, unmet=tuple(each for each in progress.unmet if each != job), stuck=others)


class JobStanding(StrEnum):
    """What another job sees of it."""

    OPEN = "open"
    MERGED = "merged"
    ENDED = "ended"
    GONE = "gone"


def after_look(progress: JobProgress, standings: Mapping[str, str]) -> JobProgress:
    """Somebody looked at the jobs that it needs."""
    unmet = tuple(job for job in progress.unmet if standings.get(job) != JobStanding.MERGED)
    over = (JobStanding.ENDED, JobStanding.GONE)
    return replace(progress, unmet=unmet, stuck=tuple(job for job in unmet if standings.get(job) in over))


def is_merged(spec: JobSpec, progress: JobProgress) -> bool:
    """What jobs that need it wait for. Work that is no task is never merged by the fleet: that it is done must do."""
    is_done = progress.last.outcome == Outcome.COMPLETED
    return is_done and (bool(progress.last.merged) or not spec.is_task)


def refusal_of_note(progress: JobProgress, text: str) -> str:
    """Why it does not fit; empty: it does."""
    size = _size(text)
    if size > LONGEST_NOTE:
        return f"a note is at most {LONGEST_NOTE:,} bytes long"
    waiting = sum(_size(note.text) for note in progress.notes)
    if waiting + size > LONGEST_NOTES:
        return f"the notes that wait for the next prompt have {waiting:,} bytes already, of at most {LONGEST_NOTES:,}"
    return ""


def steered(progress: JobProgress, text: str) -> JobProgress:
    """What was said first stays: whoever says too much is told so."""
    if refusal := refusal_of_note(progress, text):
        told = f"a note was refused: {refusal}"
        return (
            progress if told in progress.reason else replace(progress, reason=_joined(progress.reason, told))
        )
    number = progress.notes_given + 1
    whole = text.encode(errors="replace").decode()
    return replace(progress, notes=(*progress.notes, Steer(number=number, text=whole)), notes_given=number)


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _joined(*words: str) -> str:
    return "; ".join(filter(None, words))


def _ended(
    progress: JobProgress, outcome: Outcome, reason: str, now: float, *, hint: str, exit_code: int
) -> JobProgress:
    last = replace(
        progress.last, outcome=outcome.value, want="", reason=reason, hint=hint, exit_code=exit_code
    )
    return replace(progress, phase=Phase.ENDED, since=now, until=0.0, reason=reason, last=last)


def _delay(faults: int) -> float:
    """Seconds before another worker tries, growing with each time in a row."""
    return 0.0 if faults <= 0 else float(min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(faults - 1, 10)))
