"""The stream that ``qwen --output-format stream-json`` prints: claude's, with three peculiarities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.domain.agent.events import AgentEvent, ErrorReported, Text, TurnEnded, Usage, UsageReported
from ralph.patterns import pattern
from ralph.values import replace

_NOTHING_USED: Final = Usage()
API_ERROR = pattern(r"\[API Error: (?:(\d{3})\b)?.*\]", re.DOTALL)


def status_in(message: str) -> int | None:
    """The HTTP status in qwen's words for a failed request."""
    found = API_ERROR.search(message)
    return int(found[1]) if found and found[1] else None


class QwenStreamParser:
    """An error is said in the assistant's name before it is reported; the input includes what came from the cache;
    and a resumed session reports what it used before, too."""

    def __init__(self, used_before: Usage = _NOTHING_USED) -> None:
        self._used_before = used_before
        self._parser = ClaudeStreamParser()
        self._held: Text | None = None  # words that may turn out to be an error

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for event in self._parser.parse(lines):
            self._take(event, events)
        return events

    def finish(self) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        for event in self._parser.finish():
            self._take(event, events)
        self._release(events)
        return events

    def _take(self, event: AgentEvent, events: list[AgentEvent]) -> None:
        match event:
            case UsageReported():
                events.append(replace(event, usage=_without_cached(event.usage)))
                return  # it comes between the words and the error
            case ErrorReported(final=True):
                self._held = None
                event = replace(event, status=event.status or status_in(event.message))
            case TurnEnded():
                is_counted = event.usage.total > 0
                usage = _without_cached(event.usage).since(self._used_before)
                event = replace(event, usage=usage, cumulative=is_counted)
            case _:
                pass
        self._release(events)
        if isinstance(event, Text) and not event.parent and API_ERROR.fullmatch(event.text):
            self._held = event
        else:
            events.append(event)

    def _release(self, events: list[AgentEvent]) -> None:
        held, self._held = self._held, None
        if held is not None:
            events.append(held)


def _without_cached(usage: Usage) -> Usage:
    return replace(usage, input_tokens=max(0, usage.input_tokens - usage.cache_read_tokens))
