"""Jobs as people see them, on every face: words and tone, what needs a person, in which order, and how much altogether."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.steps import is_merged
from ralph.domain.fleet.views import JobView
from ralph.domain.loop.handover import Want
from ralph.domain.text.figures import money
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import Tone, Wording
from ralph.values import dataclass

_SHORT = 10
"""Characters of a commit's name."""
MANY_FAULTS = 3
"""Shifts in a row that failed on the machine's side, after which a person should look."""


class JobState(StrEnum):
    """What a job does now, or how it ended: one word for both."""

    NEEDS = "needs"  #: waits for jobs that must be merged first
    QUEUED = "queued"
    RUNNING = "running"
    PAUSING = "pausing"  #: the session under way ends first
    STOPPING = "stopping"  #: likewise
    WAITING = "waiting"
    PAUSED = "paused"
    MERGING = "merging"
    COMPLETED = "completed"
    MERGED = "merged"
    EXHAUSTED = "exhausted"
    CANCELLED = "cancelled"
    FAILED = "failed"
    UNREADABLE = "unreadable"  #: only machines with its key know


_WORDINGS = {
    JobState.NEEDS: Wording("waits for jobs", Tone.QUIET),
    JobState.QUEUED: Wording("queued", Tone.QUIET),
    JobState.RUNNING: Wording("running", Tone.OPEN),
    JobState.PAUSING: Wording("pausing", Tone.WARNING),
    JobState.STOPPING: Wording("stopping", Tone.WARNING),
    JobState.WAITING: Wording("waiting", Tone.OPEN),
    JobState.PAUSED: Wording("paused", Tone.WARNING),
    JobState.MERGING: Wording("merging", Tone.OPEN),
    JobState.COMPLETED: Wording("completed", Tone.GOOD),
    JobState.MERGED: Wording("merged", Tone.GOOD),
    JobState.EXHAUSTED: Wording("limit reached", Tone.WARNING),
    JobState.CANCELLED: Wording("cancelled", Tone.QUIET),
    JobState.FAILED: Wording("failed", Tone.BAD),
    JobState.UNREADABLE: Wording("unreadable", Tone.QUIET),
}
_PHASES = {
    Phase.NEEDS: JobState.NEEDS,
    Phase.QUEUED: JobState.QUEUED,
    Phase.RUNNING: JobState.RUNNING,
    Phase.WAITING: JobState.WAITING,
    Phase.PAUSED: JobState.PAUSED,
    Phase.MERGING: JobState.MERGING,
}
_STOPPED = (JobState.PAUSED, JobState.EXHAUSTED, JobState.FAILED)
"""Nothing more happens in such a job unless a person does something."""


# --- one job ---


def state_of(job: JobView) -> JobState:
    progress, last = job.progress, job.progress.last
    if job.sealed:
        return JobState.UNREADABLE
    if job.is_open and progress.is_stopping:
        return JobState.STOPPING
    if job.is_open:
        state = _PHASES.get(progress.phase, JobState.RUNNING)
        return JobState.PAUSING if state is JobState.RUNNING and progress.is_paused else state
    if job.problem:
        return JobState.FAILED
    if last.outcome == JobState.COMPLETED:
        return JobState.MERGED if last.merged else JobState.COMPLETED
    ended = (JobState.EXHAUSTED, JobState.FAILED, JobState.CANCELLED, JobState.WAITING)
    return next((state for state in ended if state == last.outcome), JobState.CANCELLED)


def describe_job(job: JobView) -> Wording:
    return _WORDINGS[state_of(job)]


def describe_next(word: str) -> str:
    """What follows a shift, in words: an outcome of ``Outcome``, or one of ``Want``; empty: simply the next session."""
    wants = {Want.SESSION: "", Want.WAIT: "waits", Want.MERGE: "wants to merge"}
    states = {state.value: wording.words for state, wording in _WORDINGS.items()}
    return wants[Want(word)] if word in tuple(Want) else states.get(word, word)


def needs_person(job: JobView) -> bool:
    """It is paused, stopped short of its end, cannot begin by itself, or machine after machine fails with it."""
    state = state_of(job)
    is_stuck = job.progress.faults >= MANY_FAULTS or (state is JobState.NEEDS and bool(job.progress.stuck))
    return state in _STOPPED or (job.is_open and is_stuck)


def reason_of(job: JobView) -> str:
    """Why it is in its state, as far as that is known."""
    progress, last = job.progress, job.progress.last
    if job.sealed:
        return job.sealed
    match state_of(job):
        case JobState.MERGED:
            return f"merged as {last.merged[:_SHORT]}"
        case JobState.NEEDS:
            return "; ".join(filter(None, (_needs_words(progress), progress.reason)))
        case JobState.QUEUED:
            return "; ".join(
                filter(None, (progress.reason, f"waits for a worker{_labelled(job.spec.labels)}"))
            )
        case JobState.STOPPING:
            return "at once" if progress.stop_now else "after the current step"
        case JobState.PAUSING:
            return progress.reason or "after the current session"
        case _:
            return progress.reason if job.is_open else job.problem or last.reason or progress.reason


def _needs_words(progress: JobProgress) -> str:
    """What a person can do something about first."""
    stuck = progress.stuck
    if not stuck:
        return f"after {', '.join(progress.unmet)}" if progress.unmet else ""
    are, them = ("is", "it") if len(stuck) == 1 else ("are", "them")
    return f"{', '.join(stuck)} {are} over and not merged: retry {them}, or stop this job"


def no_worker(labels: Sequence[str]) -> str:
    """What to say if nobody is there who would take such jobs now."""
    # One that is full is forgotten after a while, but for the work that needs no label.
    how = f"{_labelled(labels)} has asked for jobs lately" if labels else " is running"
    return f"no worker{how}; jobs wait for one (`ralph fleet worker`)"


def _labelled(labels: Sequence[str]) -> str:
    return f" with the label {' and '.join(map(clean_line, labels))}" if labels else ""


def worker_of(job: JobView) -> str:
    """Who has it, or had it last; nobody, if any worker may take it."""
    return "" if state_of(job) is JobState.QUEUED else job.progress.worker


def since_of(job: JobView) -> float:
    """Since when it is in its state; 0: not known."""
    if not job.is_open and job.ended_at is not None:
        return job.ended_at
    return job.progress.since or job.started_at


def cost_of(job: JobView) -> float | None:
    """With what sessions spent that were lost with their worker; None: no agent named a price."""
    cost, lost = job.progress.last.cost, job.progress.lost_cost
    return cost if not lost else (cost or 0.0) + lost


def tokens_of(job: JobView) -> int:
    return job.progress.last.tokens + job.progress.lost_tokens


def iterations_of(job: JobView) -> str:
    last = job.progress.last
    return f"{last.iteration}/{last.maximum}" if last.maximum else str(last.iteration)


def title_of(job: JobView) -> str:
    """What it is asked to do, in a line."""
    return job.spec.title or " ".join(job.spec.command)


# --- what may be asked of it ---


class JobAsk(StrEnum):
    STEER = "steer"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    STOP = "stop"
    STOP_NOW = "stop_now"
    RETRY = "retry"


DONE = {
    JobAsk.STEER: "added to the next prompt",
    JobAsk.PAUSE: "pauses after the current session",
    JobAsk.UNPAUSE: "continues",
    JobAsk.STOP: "stops after the current step",
    JobAsk.STOP_NOW: "stopping now",
    JobAsk.RETRY: "continues where it stopped",
}
"""What to tell the person who asked."""


def possible_asks(job: JobView) -> tuple[JobAsk, ...]:
    if job.sealed:
        return (JobAsk.STOP, JobAsk.STOP_NOW) if job.is_open else ()
    if job.is_open and job.progress.is_stopping:
        return (JobAsk.STOP_NOW,)
    if job.is_open:
        turn = JobAsk.UNPAUSE if job.progress.is_paused else JobAsk.PAUSE
        return (turn, JobAsk.STEER, JobAsk.STOP, JobAsk.STOP_NOW)
    return () if is_merged(job.spec, job.progress) else (JobAsk.RETRY,)


def is_idle(job: JobView, asked: JobAsk) -> bool:
    """It changes nothing, for that is how the job is."""
    return asked is JobAsk.UNPAUSE and job.is_open and not job.progress.is_paused


# --- all of them ---


class Group(StrEnum):
    """Each job is in one of them; a person looks at the first one first."""

    PERSON = "needs you"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


_RANKS = {
    state: rank
    for rank, state in enumerate(
        (
            JobState.RUNNING,
            JobState.PAUSING,
            JobState.STOPPING,
            JobState.MERGING,
            JobState.WAITING,
            JobState.QUEUED,
            JobState.NEEDS,
        )
    )
}


def group_of(job: JobView) -> Group:
    if needs_person(job):
        return Group.PERSON
    if not job.is_open:
        return Group.ENDED
    at_work = (JobState.RUNNING, JobState.PAUSING, JobState.STOPPING, JobState.MERGING)
    return Group.RUNNING if state_of(job) in at_work else Group.WAITING


def sort_jobs(jobs: Iterable[JobView]) -> list[JobView]:
    """What needs a person first, then what runs, then what waits, then the rest; the newest first."""
    groups = list(Group)

    def place(job: JobView) -> tuple[int, int, float, str]:
        group = group_of(job)
        rank = 0 if group is Group.PERSON else _RANKS.get(state_of(job), len(_RANKS))
        return groups.index(group), rank, -since_of(job), job.spec.id

    return sorted(jobs, key=place)


def has_text(job: JobView, sought: str) -> bool:
    """Whether a person who looks for this means the job."""
    spec = job.spec
    told = (spec.id, title_of(job), spec.repository, *spec.labels, job.progress.worker, reason_of(job))
    return sought.casefold().strip() in " ".join((describe_job(job).words, *told)).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTotals:
    """``counts``: of jobs, by group. ``cost`` None: no agent named a price."""

    counts: dict[Group, int]
    cost: float | None = None
    tokens: int = 0

    @property
    def jobs(self) -> int:
        return sum(self.counts.values())

    @property
    def words(self) -> str:
        """``2 need you, 3 running, 1 waiting, 4 ended, $1.50``; what is nothing is left out."""
        named = {**{group: group.value for group in Group}, Group.PERSON: "need you"}
        said = [f"{count} {named[group]}" for group, count in self.counts.items() if count]
        if self.counts[Group.PERSON] == 1:
            said[0] = f"1 {Group.PERSON.value}"
        if self.cost is not None:
            said.append(money(self.cost))
        return ", ".join(said) or "no jobs"


def total_of(jobs: Sequence[JobView]) -> FleetTotals:
    groups = [group_of(job) for job in jobs]
    costs = [cost for job in jobs if (cost := cost_of(job)) is not None]
    return FleetTotals(
        counts={group: groups.count(group) for group in Group},
        cost=sum(costs) if costs else None,
        tokens=sum(tokens_of(job) for job in jobs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLook:
    """The fleet as it was seen at ``seen_at``, sorted. ``problem``: why it cannot be seen now; what was known stays."""

    jobs: tuple[JobView, ...] = ()
    seen_at: float = 0.0
    problem: str = ""
    hint: str = ""

    @property
    def is_read(self) -> bool:
        """It was seen at least once."""
        return self.seen_at > 0
