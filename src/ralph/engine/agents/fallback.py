"""Several agents as one: the first that can work does, the others stand in. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from ralph.domain.loop.budget import Backoff
from ralph.domain.loop.decision import Rules
from ralph.domain.loop.events import Warned
from ralph.domain.loop.session_report import AgentReport, Fatal, Fault, RateLimited, Spend, Transient
from ralph.engine.ports import Agent, AgentRequest, Clock, Publish
from ralph.values import dataclass, replace

ASK_AGAIN = 1_800.0
"""Seconds until an agent with a fatal fault is asked again: someone may have logged in, or the prompt is another."""

LIMIT_BACKOFF = Rules().limit_backoff
"""How long an agent is left alone that is limited and does not say until when."""

LONGEST_LIMIT = Rules().longest_limit


def in_utc(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(slots=True)
class _Standing:
    """Whether an agent can work: what it said when it could not, and until when it is left alone."""

    fault: RateLimited | Fatal | None = None
    free_at: float = 0.0
    times: int = 0  # limited in a row without a word about until when


class FallbackAgent:
    """On a limit or a fatal fault of one agent the next one takes over in the same attempt.

    The first is preferred as soon as it is free. If none can work, the fault says so for all: limited until the
    first of them is free, or fatal with every reason. ``show_time`` words the moments in the warnings.
    """

    def __init__(
        self,
        agents: Sequence[Agent],
        clock: Clock,
        *,
        show_time: Callable[[float], str] = in_utc,
        backoff: Backoff = LIMIT_BACKOFF,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        if not agents:
            message = "a fallback chain needs an agent"
            raise ValueError(message)
        self._agents = tuple(agents)
        self._names = _distinct([agent.name for agent in agents])
        self._standings = [_Standing() for _ in agents]
        self._clock = clock
        self._show_time = show_time
        self._backoff = backoff
        self._is_stopping = is_stopping
        self._last = 0  # who worked last

    @property
    def name(self) -> str:
        return ",".join(agent.name for agent in self._agents)

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        spent = Spend()
        report: AgentReport | None = None
        asked: set[int] = set()  # once each: a limit of seconds must not make this a loop of its own
        while (place := self._next_free(asked)) is not None:
            self._announce(place, publish, is_first=report is None)
            own = request if report is None else _with_own_log(request, self._names[place])
            asked.add(place)
            self._last = place
            report = await self._agents[place].run(own, publish, stop=stop)
            spent += report.spend
            # A stop lets the current session finish; no other agent begins one instead.
            if not self._note(place, report.fault) or self._is_stopping():
                return replace(report, spend=spent)
        # Nobody is free. What the last one left behind is the report, if anybody was asked at all.
        fault = self._all_out()
        if report is None:
            return AgentReport(exit_code=None, is_orderly=False, fault=fault)
        return replace(report, fault=fault, spend=spent)

    def _next_free(self, asked: set[int]) -> int | None:
        now = self._clock.now()
        for place, standing in enumerate(self._standings):
            if place not in asked and standing.free_at <= now:
                return place
        return None

    def _announce(self, place: int, publish: Publish, *, is_first: bool) -> None:
        """Whoever is not the one that worked last is introduced, with the reason."""
        if place == self._last:
            return
        name = self._names[place]
        if is_first and place < self._last:
            was_limited = isinstance(self._standings[place].fault, RateLimited)
            publish(
                Warned(
                    f"{name} is available again: switching back to it"
                    if was_limited
                    else f"trying {name} again"
                )
            )
        else:
            publish(Warned(f"{self._why(self._last)}; going on with {name}"))

    def _why(self, place: int) -> str:
        name, standing = self._names[place], self._standings[place]
        match standing.fault:
            case RateLimited(reason, until):
                end = f" until {self._show_time(until)}" if until is not None else ""
                return f"{name} is limited{end} ({reason})"
            case Fatal(reason):
                return f"{name} cannot work: {reason}"
            case None:
                return f"{name} was asked"

    def _note(self, place: int, fault: Fault | None) -> bool:
        """Remember how the agent stands; True if another one should be asked instead."""
        standing, now = self._standings[place], self._clock.now()
        match fault:
            case RateLimited(_, until):
                if until is None or not now < until <= now + LONGEST_LIMIT:
                    standing.times += 1
                    standing.fault = replace(fault, until=None)
                    standing.free_at = now + self._backoff.delay(standing.times)
                else:
                    standing.fault, standing.free_at, standing.times = fault, until, 0
                return True
            case Fatal():
                standing.fault, standing.free_at, standing.times = fault, now + ASK_AGAIN, 0
                return True
            case Transient() | None:
                self._standings[place] = _Standing()
                return False

    def _all_out(self) -> Fault:
        reasons = "; ".join(self._why(place) for place in range(len(self._agents)))
        limited = [
            standing.free_at for standing in self._standings if isinstance(standing.fault, RateLimited)
        ]
        if limited:
            return RateLimited(reasons, min(limited))
        hints = [standing.fault.hint for standing in self._standings if isinstance(standing.fault, Fatal)]
        for standing in self._standings:  # the run ends by this; a later attempt asks all of them again
            standing.free_at = 0.0
        return Fatal(reasons, "; ".join(dict.fromkeys(hint for hint in hints if hint)))


def _with_own_log(request: AgentRequest, name: str) -> AgentRequest:
    file = request.log_file
    return replace(request, log_file=file.with_name(f"{file.stem}.{name}{file.suffix}"))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The same program may appear twice in the chain, with other flags."""
    return tuple(
        name if names.count(name) == 1 else f"{name}-{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    )
