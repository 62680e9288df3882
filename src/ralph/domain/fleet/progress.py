"""Where a job stands: small, carried from one workflow run to the next, and shown by every face."""

from __future__ import annotations

from enum import StrEnum

from ralph.domain.fleet.shift import ShiftEnd, Steer
from ralph.values import dataclass


class Phase(StrEnum):
    """What a job does now."""

    NEEDS = "needs"  #: waits for jobs that must be merged first
    QUEUED = "queued"  #: waits for a worker
    RUNNING = "running"  #: a worker has it
    WAITING = "waiting"  #: for a limit, a delay, something outside
    PAUSED = "paused"  #: by its user
    MERGING = "merging"  #: waits for its turn to merge, or merges
    ENDED = "ended"


class MergeTurn(StrEnum):
    """Where a job stands in the line of those that want to move its base."""

    NONE = ""  #: not in the line
    ASKED = "asked"
    HERE = "here"  #: it may merge now, and nobody else
    OVER = "over"  #: it has had it, and must say so


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
    losses: int = 0  # of these, as many as the job itself may have caused
    is_paused: bool = False
    resumes: bool = False
    retries: int = 0  # how often a person wanted it to continue after its end
    merge_turn: MergeTurn = MergeTurn.NONE
    unmet: tuple[str, ...] = ()  # jobs that it still waits for
    stuck: tuple[str, ...] = ()  # of these, what has ended without being merged, or is not on the server
    notes: tuple[Steer, ...] = ()  # not in a prompt yet
    notes_given: int = 0
    is_stopping: bool = False
    stop_now: bool = False

    @property
    def may_merge(self) -> bool:
        return self.merge_turn is MergeTurn.HERE
