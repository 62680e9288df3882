"""Keeps the user's share of a subscription free. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from ralph.domain.agent.events import LimitReported
from ralph.domain.agent.quota import AgentQuota, Window, current, newer
from ralph.domain.loop.events import AgentActed, LoopEvent, QuotaSeen
from ralph.domain.loop.keep_free import shortage
from ralph.domain.loop.session_report import AgentReport, RateLimited
from ralph.engine.ports import Agent, AgentRequest, Clock, Publish


class Quota:
    """What agents have said about their subscriptions. Runs side by side share one: what one of them hears holds for all."""

    def __init__(self, keep_free: Mapping[str, float], known: Sequence[AgentQuota] = ()) -> None:
        self.keep_free = keep_free
        self._windows = {each.agent: each.windows for each in known}

    def take(self, agent: str, windows: Sequence[Window]) -> bool:
        """False: that was known."""
        before = self._windows.get(agent, ())
        self._windows[agent] = after = newer(before, windows)
        return after != before

    def known(self, agents: Sequence[str], now: float) -> tuple[AgentQuota, ...]:
        """Of these agents, as far as it still holds."""
        told = (AgentQuota(agent, current(self._windows.get(agent, ()), now)) for agent in agents)
        return tuple(quota for quota in told if quota.windows)

    def shortage(self, agent: str, now: float) -> RateLimited | None:
        return shortage(agent, self._windows.get(agent, ()), self.keep_free, now)


class SparingAgent:
    """Another agent, which begins no work while less is left than must stay free.

    Whatever judges and commits work that is done may still ask it.
    """

    def __init__(self, agent: Agent, quota: Quota, clock: Clock) -> None:
        self._agent = agent
        self._quota = quota
        self._clock = clock

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        if request.purpose == "iteration":
            fault = self._quota.shortage(self.name, self._clock.now())
            if fault is not None:
                return AgentReport(exit_code=None, is_orderly=False, fault=fault)

        def hear(event: LoopEvent) -> None:
            publish(event)
            if not isinstance(event, AgentActed) or LimitReported not in map(type, event.events):
                return
            for each in event.events:
                if isinstance(each, LimitReported) and self._quota.take(self.name, each.windows):
                    for known in self._quota.known([self.name], self._clock.now()):
                        publish(QuotaSeen(known.agent, known.windows))

        return await self._agent.run(request, hear, stop=stop)
