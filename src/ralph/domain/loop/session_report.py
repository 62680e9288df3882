"""How an agent session ended, as a value: nothing an agent does raises an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ralph.domain.agent.events import Usage
from ralph.domain.loop.claims import Tag


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
    """Trying again cannot help: not logged in, unknown flag, missing executable."""

    reason: str
    hint: str = ""
    kind: str = field(default="fatal", init=False)


Fault = Transient | RateLimited | Fatal


@dataclass(frozen=True, slots=True)
class Spend:
    """Money, tokens and time. Unknown cost is not zero: ``cost_usd`` is None until some is reported, and with
    ``is_partly_unknown``, tokens without a known price were used: it cost at least this."""

    cost_usd: float | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    is_partly_unknown: bool = False

    @classmethod
    def of_session(cls, cost_usd: float | None, usage: Usage, seconds: float = 0.0) -> Spend:
        return cls(cost_usd, usage, seconds, is_partly_unknown=cost_usd is None and usage.total > 0)

    def __sub__(self, earlier: Spend) -> Spend:
        """What was added to an earlier sum."""
        cost = None if self.cost_usd is None else self.cost_usd - (earlier.cost_usd or 0.0)
        used = self.usage - earlier.usage
        return Spend(cost, used, self.seconds - earlier.seconds, self.is_partly_unknown and used.total > 0)

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

    ``reason`` says which limit of the run ended it (``Ending.LIMITED``).
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
