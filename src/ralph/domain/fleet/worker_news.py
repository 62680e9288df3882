"""What a worker has to tell while it works. ``kind`` is the name on the wire (``--json``)."""

from __future__ import annotations

from ralph.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady:
    """``sandbox``: which one jobs get, in words."""

    worker: str
    address: str
    namespace: str
    labels: tuple[str, ...]
    slots: int
    sandbox: str
    home: str
    version: str
    kind: str = field(default="worker_ready", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftBegan:
    job: str
    turn: int
    kind: str = field(default="shift_began", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftEnded:
    """``next``: the outcome of a run that has ended, or what the job needs next."""

    job: str
    turn: int
    iteration: int
    decision: str
    next: str
    reason: str
    seconds: float
    kind: str = field(default="shift_ended", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftLost:
    """Nothing of it counts; another worker does it again, or the job ends."""

    job: str
    turn: int
    reason: str
    hint: str
    seconds: float
    kind: str = field(default="shift_lost", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLost:
    """Sessions under way continue."""

    reason: str
    kind: str = field(default="server_lost", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBack:
    seconds: float
    kind: str = field(default="server_back", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesakeSeen:
    """The server knows a worker of this name, which asked for work so many seconds ago: perhaps this one, before a restart."""

    worker: str
    seconds: float
    kind: str = field(default="namesake_seen", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUnreadable:
    """It waits for a worker with its key."""

    job: str
    reason: str
    kind: str = field(default="job_unreadable", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonesRemoved:
    """Of jobs that have ended."""

    count: int
    kind: str = field(default="clones_removed", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLeaving:
    """It takes no more work. ``sessions``: how many it finishes first; ``now``: none, others do them again."""

    sessions: int
    now: bool
    kind: str = field(default="worker_leaving", init=False)


WorkerNews = (
    WorkerReady
    | ShiftBegan
    | ShiftEnded
    | ShiftLost
    | ServerLost
    | ServerBack
    | NamesakeSeen
    | JobUnreadable
    | ClonesRemoved
    | WorkerLeaving
)
