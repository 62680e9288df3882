"""Agents that begin no work while the user's share is all that is left."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from ralph.domain.agent.events import LimitReported
from ralph.domain.agent.quota import AgentQuota, Window
from ralph.domain.loop.events import AgentActed, LoopEvent, QuotaSeen
from ralph.domain.loop.session_report import AgentReport, RateLimited
from ralph.engine.agents.sparing_agent import Quota, SparingAgent
from ralph.engine.ports import AgentRequest, Publish
from ralph.testing.fake_clock import FakeClock

REQUEST = AgentRequest("do it", Path("prompt_001.txt"), Path("run/agent_001.ndjson"), Path("project"))
CLOCK = FakeClock()
SHORT = Window("5h", 10.0, CLOCK.now() + 3600)


class TellingAgent:
    """Says twice in each session how much is left."""

    name = "claude"

    def __init__(self, *windows: Window) -> None:
        self.launches = 0
        self._windows = windows

    async def run(self, request: AgentRequest, publish: Publish, *, stop: object = None) -> AgentReport:
        self.launches += 1
        publish(AgentActed((LimitReported(False, windows=self._windows),)))
        publish(AgentActed((LimitReported(False, windows=self._windows),)))
        return AgentReport()


def test_what_one_run_hears_keeps_another_from_beginning_but_not_from_judging() -> None:
    quota = Quota({"5h": 15.0})
    first, second = TellingAgent(SHORT), TellingAgent(SHORT)
    events: list[LoopEvent] = []
    told = asyncio.run(SparingAgent(first, quota, CLOCK).run(REQUEST, events.append))
    assert told.fault is None  # a session that is over is judged
    assert [each for each in events if isinstance(each, QuotaSeen)] == [QuotaSeen("claude", (SHORT,))]
    held = asyncio.run(SparingAgent(second, quota, CLOCK).run(REQUEST, events.append))
    assert isinstance(held.fault, RateLimited)
    assert (held.fault.until, held.exit_code, second.launches) == (SHORT.resets_at, None, 0)
    judge = replace(REQUEST, purpose="verification")
    assert asyncio.run(SparingAgent(second, quota, CLOCK).run(judge, events.append)).fault is None


def test_what_an_earlier_run_heard_holds_until_the_reset() -> None:
    clock, agent = FakeClock(), TellingAgent(SHORT)
    sparing = SparingAgent(agent, Quota({"5h": 15.0}, [AgentQuota("claude", (SHORT,))]), clock)
    assert asyncio.run(sparing.run(REQUEST, lambda _: None)).fault is not None
    asyncio.run(clock.sleep(3601))
    assert asyncio.run(sparing.run(REQUEST, lambda _: None)).fault is None
    assert agent.launches == 1
