"""Plain output as events: every line of stdout is assistant text, except an echo of the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.adapters.agents.echo import EchoFilter
from ralph.domain.agent_events import AgentEvent, Text

# CSI (colours, cursor), OSC (titles, links; up to its end or the end of the line), and the two-character rest.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")


def without_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text else text


class PlainTextParser:
    """One block of text, a line at a time. ``prompt`` is what may be echoed; empty: nothing is removed."""

    def __init__(self, prompt: str = "") -> None:
        self._echo = EchoFilter(prompt)

    def parse(self, line: bytes) -> Sequence[AgentEvent]:
        text = without_ansi(line.decode("utf-8", "replace").removesuffix("\r"))
        return [Text(kept + "\n", False) for kept in self._echo.feed(text)]

    def finish(self) -> Sequence[AgentEvent]:
        held: list[AgentEvent] = [Text(kept + "\n", False) for kept in self._echo.flush()]
        return [*held, Text("", True)]
