"""An agent whose every session is read-only, in a checkout of its own. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ralph.domain.loop.events import Warned
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal
from ralph.engine.ports import Agent, AgentRequest, Publish
from ralph.engine.review.ports import ReviewedCommit
from ralph.errors import AgentUnavailable, ConfigError
from ralph.values import replace

MOST_NAMED = 5

AgentAt = Callable[[Path], AbstractAsyncContextManager[Agent]]
"""The agent, for a session in that folder: confined to it, if the run has a sandbox."""


class Reviewer:
    """What a session did to its checkout is told and thrown away: only its answer counts."""

    def __init__(self, name: str, agent_at: AgentAt, commit: ReviewedCommit) -> None:
        self.name = name
        self._agent_at = agent_at
        self._commit = commit

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        async with self._commit.checkout() as checkout:
            here = replace(request, cwd=checkout.top, read_only=True)
            try:
                async with self._agent_at(checkout.top) as agent:
                    report = await agent.run(here, publish, stop=stop)
            except (
                AgentUnavailable,
                ConfigError,
            ) as error:  # no sandbox can be had around what is there, say
                fault = Fatal(error.message, error.hint)
                return AgentReport(ending=Ending.NOT_STARTED, exit_code=None, is_orderly=False, fault=fault)
            if changes := await checkout.changes():
                publish(Warned(f"the reviewer changed {_listed(changes)}: that was thrown away"))
        return report


def _listed(changes: Sequence[str]) -> str:
    more = f" and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
    return ", ".join(changes[:MOST_NAMED]) + more
