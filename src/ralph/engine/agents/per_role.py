"""Several agents as one: each role has its own. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from ralph.domain.loop.session_report import AgentReport
from ralph.engine.ports import Agent, AgentRequest, Publish


class PerRoleAgent:
    """``usual`` does what no other was chosen for."""

    def __init__(self, usual: Agent, by_role: Mapping[str, Agent]) -> None:
        self._usual = usual
        self._by_role = dict(by_role)

    @property
    def name(self) -> str:
        return self._usual.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        agent = self._by_role.get(request.role, self._usual)
        return await agent.run(request, publish, stop=stop)
