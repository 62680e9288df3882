"""The root agent of a supervised run: each launch counts as it is. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.session_report import AgentReport, RateLimited
from ralph.domain.supervision.rules import Launches, as_launch
from ralph.engine.ports import Agent, AgentRequest, Publish


class RootAgent:
    """Another agent, whose passing faults are no reason to retry; ``launches`` is told of its limits.

    ``on_end`` is called after each launch.
    """

    def __init__(
        self,
        agent: Agent,
        launches: Launches,
        *,
        is_done: Callable[[], bool],
        waits_for_limits: bool,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._agent = agent
        self._launches = launches
        self._is_done = is_done
        self._waits_for_limits = waits_for_limits
        self._on_end = on_end

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        report = await self._agent.run(request, publish, stop=stop)
        self._launches.limited_until = report.fault.until if isinstance(report.fault, RateLimited) else None
        self._launches.count(report)
        self._on_end()
        return as_launch(report, is_done=self._is_done(), waits_for_limits=self._waits_for_limits)
