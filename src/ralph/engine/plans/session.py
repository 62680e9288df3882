"""An agent whose sessions work on a plan: remembers what each one finds, and undoes at once what nobody will judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.decision import Rules, is_judgeable
from ralph.domain.loop.session_report import AgentReport
from ralph.engine.plans.ports import PlanKeeper
from ralph.engine.ports import Agent, AgentRequest, Publish


class PlanAgent:
    """``on_begin`` tells the hooks in the session about it."""

    def __init__(
        self, agent: Agent, keeper: PlanKeeper, rules: Rules, *, on_begin: Callable[[], None] | None = None
    ) -> None:
        self._agent = agent
        self._keeper = keeper
        self._rules = rules
        self._on_begin = on_begin

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        await self._keeper.begin()
        if self._on_begin is not None:
            self._on_begin()
        report = await self._agent.run(request, publish, stop=stop)
        if not is_judgeable(report, self._rules):
            # Not only before the next session: there may be hours until then, in which a person edits these files.
            await self._keeper.catch_up()
        return report
