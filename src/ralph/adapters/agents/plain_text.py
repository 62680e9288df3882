"""Plain output as events: every line of stdout is assistant text, except an echo of the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.agents.echo import echo_filters
from ralph.adapters.agents.excerpts import without_ansi
from ralph.domain.agent.events import AgentEvent, Notice, Text

ECHO_LEFT_OUT = "an echo of the prompt is left out here; it claims nothing"


class PlainTextParser:
    """One block of text, a line at a time. ``sent`` are the texts that may be echoed; none: nothing is removed."""

    def __init__(self, *sent: str) -> None:
        self._filters = echo_filters(sent)
        self._echoes = 0

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        text = "".join(map(self._own_words, lines))
        return [*([Text(text, False)] if text else []), *self._new_echoes()]

    def _new_echoes(self) -> list[AgentEvent]:
        """What is left out is marked."""
        found = sum(filter_.found for filter_ in self._filters)
        news, self._echoes = found - self._echoes, found
        return [Notice(ECHO_LEFT_OUT)] if news else []

    def _own_words(self, line: bytes) -> str:
        text = without_ansi(line.decode("utf-8", "replace").removesuffix("\r")) + "\n"
        for filter_ in self._filters:
            text = filter_.feed(text)
            if not text:
                break
        return text

    def finish(self) -> Sequence[AgentEvent]:
        rest = ""
        for filter_ in self._filters:
            rest = filter_.feed(rest) + filter_.flush()
        end = (*self._new_echoes(), Text("", True))
        return (Text(rest, False), *end) if rest else end
