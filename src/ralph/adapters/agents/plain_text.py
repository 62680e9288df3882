"""Plain output as events: every line of stdout is assistant text, except an echo of the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.adapters.agents.echo import echo_filters
from ralph.domain.agent_events import AgentEvent, Text

# CSI (colours, cursor), OSC (titles, links; up to its end or the end of the line), and the two-character rest.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")


def without_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text else text


class PlainTextParser:
    """One block of text, a line at a time. ``sent`` are the texts that may be echoed; none: nothing is removed."""

    def __init__(self, *sent: str) -> None:
        self._filters = echo_filters(sent)

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        text = "".join(map(self._own_words, lines))
        return [Text(text, False)] if text else []

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
        end = Text("", True)
        return (Text(rest, False), end) if rest else (end,)
