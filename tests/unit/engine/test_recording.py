"""What is on record, and when."""

from __future__ import annotations

import asyncio

import pytest

from ralph.domain.agent.events import Text, TurnEnded
from ralph.domain.loop.events import AgentActed, AgentEnded, LoopEvent, Warned
from ralph.domain.loop.session_report import Spend
from ralph.engine.recording import Recorder
from ralph.testing.fake_clock import FakeClock
from ralph.testing.memory_journal import MemoryJournal


class Flushes(MemoryJournal):
    flushed = 0

    def flush(self) -> None:
        self.flushed = len(self.events)


@pytest.mark.parametrize(
    ("event", "at_once"),
    [
        (AgentActed((Text("done"), TurnEnded(cost_usd=5.0))), True),
        (AgentEnded("exited", 0, 1.0, Spend(5.0)), True),
        (AgentActed((Text("working"),)), False),
        (Warned("careful"), False),
    ],
    ids=["the end of a turn", "the end of a session", "words", "a warning"],
)
def test_what_was_spent_is_on_record_at_once(event: LoopEvent, at_once: bool) -> None:
    journal = Flushes()

    async def publish() -> None:
        Recorder(journal, FakeClock())(event)

    asyncio.run(publish())
    assert journal.flushed == (1 if at_once else 0)
