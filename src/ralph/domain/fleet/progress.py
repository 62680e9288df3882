"""Where a job stands: small, carried from one workflow run to the next, and shown by every face."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ralph.domain.fleet.shift import ShiftEnd, Steer


class Phase(StrEnum):
    """What a job does now."""

    NEEDS = "needs"  #: waits for jobs that must be merged first
    QUEUED = "queued"  #: waits for a worker
    RUNNING = "running"  #: a worker has it
    WAITING = "waiting"  #: for a limit, a delay, something outside
    PAUSED = "paused"  #: by its user
    MERGING = "merging"  #: waits for its turn to merge, or merges
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """``last``: how its newest shift ended. ``worker``: who had it last, and is preferred; empty: anyone."""

    turn: int = 0  # shifts that ended well
    phase: Phase = Phase.QUEUED
    worker: str = ""
    since: float = 0.0  # of the phase
    until: float = 0.0  # when a wait ends; 0: not known
    reason: str = ""  # for the phase
    last: ShiftEnd = ShiftEnd()
    waited: float = 0.0  # seconds since the last shift that count as the run's time
    lost_cost: float = 0.0
    lost_tokens: int = 0
    lost_shifts: int = 0  # over the whole job
    faults: int = 0  # shifts in a row that failed on the machine's side
    is_paused: bool = False
    resumes: bool = False
    may_merge: bool = False
    unmet: tuple[str, ...] = ()  # jobs that it still waits for
    notes: tuple[Steer, ...] = ()  # not in a prompt yet
    notes_given: int = 0
    stop_now: bool = False
