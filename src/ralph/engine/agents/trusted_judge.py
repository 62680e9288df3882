"""An agent that judges only while its program is what the run began with. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.session_report import AgentReport, Ending, Fatal
from ralph.engine.ports import Agent, AgentRequest, Publish


class TrustedJudge:
    """``judges`` tells the sessions that decide about the work of others; ``why_not`` is asked before each of them."""

    def __init__(
        self, agent: Agent, *, judges: Callable[[AgentRequest], bool], why_not: Callable[[], Fatal | None]
    ) -> None:
        self._agent = agent
        self._judges = judges
        self._why_not = why_not

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        if self._judges(request) and (fault := self._why_not()) is not None:
            return AgentReport(ending=Ending.NOT_STARTED, exit_code=None, is_orderly=False, fault=fault)
        return await self._agent.run(request, publish, stop=stop)
