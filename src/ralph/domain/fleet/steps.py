"""What a job does next, and what becomes of it after each shift. Nothing here that the loop itself decides: no iteration, no
limit, no feedback; only machines that come and go, people who steer, and other jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.names import label_queue, worker_queue
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder, Steer
from ralph.domain.loop.decision import STOPPED, Outcome
from ralph.domain.loop.handover import Want

STICKY_WAIT = 5.0
"""Seconds that a job waits for the worker that had it last."""
LONGEST_NOTE = 16_000
"""Bytes of one note."""
LONGEST_NOTES = 32_000
"""Bytes of all notes that are not in a prompt yet: a job must stay small on the server."""
MANY_BUGS = 5
"""Shifts in a row that ended with an error nobody foresaw."""
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
KINDS = _FATAL | {FENCED, SPENT}
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
    if progress.last.want == Want.MERGE and not progress.may_merge:
        return AwaitTurn()
    if not progress.worker:
        return DoShift(label_queue(spec.labels), None)
    # After a loss the worker may be well and only the server was away: it may have the session still.
    patience = max(STICKY_WAIT, spec.heartbeat / 2) if progress.faults else STICKY_WAIT
    return DoShift(worker_queue(progress.worker), patience)


def farewell_after(heartbeat: float) -> float:
    """Seconds that a worker keeps a session whose order is gone on the server: longer than the next order waits for it."""
    return max(STICKY_WAIT, heartbeat / 2) + 10.0


def entered(progress: JobProgress, step: Step, now: float) -> JobProgress:
    """The job as it is during this step."""
    if isinstance(step, Finish):
        return progress
    if isinstance(step, DoShift):
        phase = Phase.MERGING if progress.may_merge else Phase.RUNNING if progress.worker else Phase.QUEUED
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
    # Nobody holds up the line for their own delay.
    return replace(_in_phase(progress, phase, now), may_merge=False)


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
        is_paused=False,
        resumes=progress.turn > 0,
        may_merge=False,
        stop_now=False,
    )


def after_shift(progress: JobProgress, end: ShiftEnd, now: float) -> JobProgress:
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
        resumes=False,
        may_merge=progress.may_merge and end.want == Want.MERGE,
        notes=tuple(note for note in progress.notes if note.number > end.heard),
    )
    if end.outcome:
        return replace(done, phase=Phase.ENDED, since=now)
    if end.want == Want.WAIT:
        return replace(done, until=now + end.seconds)
    return done


def _after_nothing(progress: JobProgress, end: ShiftEnd, now: float) -> JobProgress:
    """It could not even begin: no place at the agent's account, for instance. The run's time stands still meanwhile."""
    seconds = max(end.seconds, 1.0)
    return replace(progress, worker=end.worker, until=now + seconds, reason=end.reason, may_merge=False)


def after_nobody(progress: JobProgress) -> JobProgress:
    """The worker that had it last did not ask for it in time."""
    return replace(progress, worker="")


def after_loss(progress: JobProgress, beat: Beat, now: float) -> JobProgress:
    """No sign of life any more. What the session had spent is spent, whoever continues."""
    faults = progress.faults + 1
    who = f" on {beat.worker or progress.worker}" if beat.worker or progress.worker else ""
    return replace(
        progress,
        worker=beat.worker or progress.worker,
        lost_cost=progress.lost_cost + beat.cost,
        lost_tokens=progress.lost_tokens + beat.tokens,
        lost_shifts=progress.lost_shifts + 1,
        faults=faults,
        until=now + _delay(faults - _CALM_LOSSES),
        reason=f"the session{who} was lost",
    )


def after_fault(progress: JobProgress, fault: Fault, now: float) -> JobProgress:
    faults = progress.faults + 1
    after = replace(
        progress,
        worker="",
        lost_cost=progress.lost_cost + fault.cost,
        lost_tokens=progress.lost_tokens + fault.tokens,
        faults=faults,
        reason=fault.message,
    )
    if fault.kind == WORKER_LEFT:
        return replace(after, faults=progress.faults, lost_shifts=progress.lost_shifts + 1)
    if fault.kind == FENCED:
        return replace(after, until=now + _delay(faults - _CALM_LOSSES))
    if fault.kind == SPENT:
        return _ended(after, Outcome.EXHAUSTED, fault.message, now, hint=fault.hint, exit_code=1)
    if fault.kind in _FATAL or (fault.exit_code == 3 and faults >= MANY_BUGS):
        return _ended(after, Outcome.FAILED, fault.message, now, hint=fault.hint, exit_code=fault.exit_code)
    return replace(after, until=now + max(fault.after, _delay(faults)), may_merge=False)


def after_stop(progress: JobProgress, now: float) -> JobProgress:
    """A person said stop while nothing ran."""
    return _ended(progress, Outcome.CANCELLED, STOPPED, now, hint="", exit_code=130)


def after_needed(progress: JobProgress, job: str, *, is_merged: bool) -> JobProgress:
    """A job that this one needs has ended. One that was not merged may be retried: this one waits on."""
    if not is_merged:
        return _needing(progress, {job: "has ended without being merged"})
    return _needing(replace(progress, unmet=tuple(each for each in progress.unmet if each != job)), {})


class JobStanding(StrEnum):
    """What another job sees of it."""

    OPEN = "open"
    MERGED = "merged"
    ENDED = "ended"
    GONE = "gone"


def after_look(progress: JobProgress, standings: Mapping[str, str]) -> JobProgress:
    """Somebody looked at the jobs that it needs."""
    unmet = tuple(job for job in progress.unmet if standings.get(job) != JobStanding.MERGED)
    words = {
        JobStanding.ENDED: "has ended without being merged",
        JobStanding.GONE: "is not on the server",
    }
    problems = {job: words[JobStanding(standings[job])] for job in unmet if standings.get(job) in words}
    return _needing(replace(progress, unmet=unmet), problems)


def is_merged(spec: JobSpec, progress: JobProgress) -> bool:
    """What jobs that need it wait for. Work that is no task is never merged by the fleet: that it is done must do."""
    is_done = progress.last.outcome == Outcome.COMPLETED
    return is_done and (bool(progress.last.merged) or not spec.is_task)


def steered(progress: JobProgress, text: str) -> JobProgress:
    number = progress.notes_given + 1
    kept = text.encode(errors="replace")[:LONGEST_NOTE].decode(errors="ignore")
    notes = (*progress.notes, Steer(number=number, text=kept))
    while sum(len(note.text.encode()) for note in notes) > LONGEST_NOTES:
        notes = notes[1:]
    return replace(progress, notes=notes, notes_given=number)


def _needing(progress: JobProgress, problems: Mapping[str, str]) -> JobProgress:
    if not progress.unmet:
        return replace(progress, reason="")
    words = [f"{job} {problem}: retry it, or stop this job" for job, problem in problems.items()]
    return replace(progress, reason="; ".join(words) or f"waits for {', '.join(progress.unmet)}")


def _ended(
    progress: JobProgress, outcome: Outcome, reason: str, now: float, *, hint: str, exit_code: int
) -> JobProgress:
    last = replace(
        progress.last, outcome=outcome.value, want="", reason=reason, hint=hint, exit_code=exit_code
    )
    return replace(
        progress, phase=Phase.ENDED, since=now, until=0.0, reason=reason, last=last, may_merge=False
    )


def _delay(faults: int) -> float:
    """Seconds before another worker tries, growing with each time in a row."""
    return 0.0 if faults <= 0 else float(min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(faults - 1, 10)))


# --- what comes back from the server without its type ------------------------------------------------------


def read_beat(details: Sequence[Any]) -> Beat:
    """The last sign of life of a worker that is gone, of which only what it had spent is of use."""
    found = details[0] if details and isinstance(details[0], Mapping) else {}
    return Beat(
        worker=str(found.get("worker", "")),
        turn=int(found.get("turn", 0)),
        iteration=int(found.get("iteration", 0)),
        cost=float(found.get("cost", 0.0)),
        tokens=int(found.get("tokens", 0)),
    )


def read_fault(details: Sequence[Any], *, kind: str, message: str) -> Fault:
    """``kind`` and ``message``: what is known of an error that nobody of ours has made."""
    found = details[0] if details and isinstance(details[0], Mapping) else {}
    return Fault(
        kind=str(found.get("kind", kind)),
        message=str(found.get("message", message)),
        hint=str(found.get("hint", "")),
        exit_code=int(found.get("exit_code", 3)),
        after=float(found.get("after", 0.0)),
        cost=float(found.get("cost", 0.0)),
        tokens=int(found.get("tokens", 0)),
    )
