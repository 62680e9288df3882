"""How an agent session ended, as a value: nothing an agent does raises."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from ralph.domain.agent_events import Usage
from ralph.domain.signals import Tag


class Ending(StrEnum):
    """Why the process is no longer there."""

    EXITED = "exited"  #: by itself
    TIMED_OUT = "timed_out"  #: the total time was over
    IDLE = "idle"  #: no output for too long
    STOPPED = "stopped"  #: the user asked to stop now
    NOT_STARTED = "not_started"  #: could not be started at all


@dataclass(frozen=True, slots=True)
class Transient:
    """Worth trying again: a network error, an overloaded model, a crash."""

    reason: str


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Nothing to do before ``until`` (seconds since the epoch; None: unknown)."""

    reason: str
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Fatal:
    """Trying again cannot help: not logged in, unknown flag, missing executable."""

    reason: str
    hint: str = ""


Fault = Transient | RateLimited | Fatal


@dataclass(frozen=True, slots=True)
class Spend:
    """Money, tokens and time. Unknown money is not zero: ``cost_usd`` is None until somebody reports some."""

    cost_usd: float | None = None
    usage: Usage = Usage()
    seconds: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spend(
            cost_usd=sum(costs) if costs else None,
            usage=self.usage + other.usage,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class AgentReport:
    """One session. ``text`` is assistant text only, bounded; ``tags`` are all tags found in the whole of it."""

    ending: Ending = Ending.EXITED
    exit_code: int | None = 0
    text: str = ""
    tags: tuple[Tag, ...] = ()
    fault: Fault | None = None
    spend: Spend = Spend()
    tools: int = 0
    tool_errors: int = 0
    denials: tuple[str, ...] = ()
    stderr: str = field(default="", repr=False)  # the end of it, for error messages

    @property
    def is_empty(self) -> bool:
        """The session said nothing and did nothing: no ground to judge it on."""
        return not self.text.strip() and not self.tools
