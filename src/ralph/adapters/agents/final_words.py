"""Only the last words of a session: the answer, without what was said on the way to it."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.agent.events import AgentEvent, Text, ToolStarted, TurnEnded
from ralph.engine.ports import StreamParser


class FinalWordsParser:
    """Holds the assistant's words back until the turn ends; a tool call in between makes them preliminary."""

    def __init__(self, parser: StreamParser) -> None:
        self._parser = parser
        self._words: list[AgentEvent] = []

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        return self._without_preliminaries(self._parser.parse(lines))

    def finish(self) -> Sequence[AgentEvent]:
        return [*self._without_preliminaries(self._parser.finish()), *self._words]

    def _without_preliminaries(self, events: Sequence[AgentEvent]) -> list[AgentEvent]:
        passed: list[AgentEvent] = []
        for event in events:
            if isinstance(event, Text):
                self._words.append(event)
                continue
            if isinstance(event, ToolStarted):
                self._words = []
            elif isinstance(event, TurnEnded):
                passed += self._words
                self._words = []
            passed.append(event)
        return passed
