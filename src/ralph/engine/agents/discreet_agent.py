"""An agent whose prompts are put away once it has answered. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.session_report import AgentReport
from ralph.engine.ports import Agent, AgentRequest, Publish


class DiscreetAgent:
    """The agent, and whoever stands in for it, reads the whole prompt; what stays of it is what ``put_away`` leaves."""

    def __init__(self, agent: Agent, put_away: Callable[[AgentRequest], None]) -> None:
        self._agent = agent
        self._put_away = put_away

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        try:
            return await self._agent.run(request, publish, stop=stop)
        finally:
            self._put_away(request)
