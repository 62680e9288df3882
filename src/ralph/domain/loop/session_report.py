"""How an agent session ended, as a value: nothing an agent does raises an exception."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ralph.domain.agent.events import Usage
from ralph.domain.agent.network import no_network
from ralph.domain.loop.claims import Tag
from ralph.values import dataclass, field

_COST_DIGITS = 12  # a difference of binary fractions has noise behind that, and people would see it


class Ending(StrEnum):
    """Why the process ended."""

    EXITED = "exited"  #: by itself
    TIMED_OUT = "timed_out"  #: it took too long
    IDLE = "idle"  #: no output for too long
    STOPPED = "stopped"  #: the user asked to stop now
    LIMITED = "limited"  #: the run reached a limit during the session
    NOT_STARTED = "not_started"  #: could not be started at all


@dataclass(frozen=True, slots=True)
class Transient:
    """Worth trying again: a network error, an overloaded model, a crash."""

    reason: str
    kind: str = field(default="transient", init=False)


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Nothing to do before ``until`` (seconds since the epoch; None: unknown)."""

    reason: str
    until: float | None = None
    kind: str = field(default="rate_limited", init=False)


@dataclass(frozen=True, slots=True)
class Fatal:
    """Trying again cannot help: not logged in, unknown flag, missing executable.

    ``is_full``: its context was full from the start. If that was an earlier session's, a fresh one may help.
    """

    reason: str
    hint: str = ""
    is_full: bool = False
    kind: str = field(default="fatal", init=False)


Fault = Transient | RateLimited | Fatal


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No fault: it reached a limit of its own (turns, time, context), and is judged as it is."""

    reason: str


class Obstacle(StrEnum):
    """What kept a session, of a worker or of a judge, from its work."""

    TRANSIENT = "transient"
    OFFLINE = "offline"  #: passing too, but it may take hours: the network is away
    RATE_LIMITED = "rate_limited"
    FATAL = "fatal"
    LIMIT_REACHED = "limit_reached"  #: a limit of the run itself


_LASTING = (
    Obstacle.LIMIT_REACHED,
    Obstacle.FATAL,
    Obstacle.RATE_LIMITED,
    Obstacle.OFFLINE,
    Obstacle.TRANSIENT,
)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Nobody's work was judged by this: neither the worker's, nor, if a judge was hindered, what it should judge.

    ``until`` and ``hint`` as in the faults.
    """

    obstacle: Obstacle
    reason: str
    until: float | None = None
    hint: str = ""

    @classmethod
    def of(cls, fault: Fault) -> Hindrance:
        match fault:
            case RateLimited(reason, until):
                return cls(Obstacle.RATE_LIMITED, reason, until)
            case Fatal(reason, hint):
                return cls(Obstacle.FATAL, reason, hint=hint)
            case Transient(reason):
                return cls(Obstacle.OFFLINE if no_network(reason) else Obstacle.TRANSIENT, reason)


def most_lasting(failures: Sequence[Hindrance | None]) -> Hindrance | None:
    """What keeps checks that failed from judging; None if one of them has judged, or none failed.

    Waiting for a limit does not help a judge who is not logged in.
    """
    hindered = [one for one in failures if one is not None]
    if not hindered or len(hindered) < len(failures):
        return None
    return min(hindered, key=lambda one: _LASTING.index(one.obstacle))


@dataclass(frozen=True, slots=True)
class Spend:
    """Money, tokens and time. Unknown cost is not zero: ``cost_usd`` is None until some is reported, and with
    ``is_partly_unknown``, more was used, without a known price: it cost at least this."""

    cost_usd: float | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    is_partly_unknown: bool = False

    @classmethod
    def of_session(cls, cost_usd: float | None, usage: Usage, seconds: float = 0.0) -> Spend:
        return cls(cost_usd, usage, seconds, is_partly_unknown=cost_usd is None and usage.total > 0)

    def __sub__(self, earlier: Spend) -> Spend:
        """What was added to an earlier sum."""
        cost = (
            None if self.cost_usd is None else round(self.cost_usd - (earlier.cost_usd or 0.0), _COST_DIGITS)
        )
        used = self.usage - earlier.usage
        is_new = used.total > 0 or not earlier.is_partly_unknown
        return Spend(cost, used, self.seconds - earlier.seconds, self.is_partly_unknown and is_new)

    def __add__(self, other: Spend) -> Spend:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spend(
            cost_usd=sum(costs) if costs else None,
            usage=self.usage + other.usage,
            seconds=self.seconds + other.seconds,
            is_partly_unknown=self.is_partly_unknown or other.is_partly_unknown,
        )


@dataclass(frozen=True, slots=True)
class AgentReport:
    """One session. ``text`` is assistant text only, bounded; ``tags`` are all tags in the full text.

    ``reason`` says which limit of the run ended it (``Ending.LIMITED``), or which of its own it reached.
    """

    ending: Ending = Ending.EXITED
    exit_code: int | None = 0
    is_orderly: bool = True  # it ended by itself: its last turn ended well, or it exited with 0
    text: str = ""
    tags: tuple[Tag, ...] = ()
    fault: Fault | None = None
    spend: Spend = Spend()
    reason: str = ""
    tools: int = 0
    tool_errors: int = 0
    denials: tuple[str, ...] = ()  # tools it was not permitted to use, one entry per call
    cut_off: tuple[str, ...] = ()  # what it had running beside its turns when it ended

    @property
    def hindrance(self) -> Hindrance | None:
        if self.ending is Ending.LIMITED:
            return Hindrance(Obstacle.LIMIT_REACHED, self.reason)
        return None if self.fault is None else Hindrance.of(self.fault)
