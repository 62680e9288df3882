"""What Gemini CLI and Qwen Code, which grew out of it, have in common."""

from __future__ import annotations

from typing import ClassVar

from ralph.adapters.agents.arguments import value_of, without
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.engine.ports import AgentRequest, OutputMode, StreamParser

PERMITS: tuple[str, ...] = ("--approval-mode", "--allowed-tools")


class GeminiFamilyAdapter(StructuredAdapter):
    """``-o stream-json --yolo``, prompt on stdin; ``stream`` is the parser of its events."""

    stream: ClassVar[type[StreamParser]]
    grants = ("--yolo", "-y")
    chooses = PERMITS

    def _arguments(self, request: AgentRequest) -> list[str]:
        flags = without(self._flags, *self.grants, valued=PERMITS) if request.read_only else self._flags
        arguments = [*flags, *self._model(), *self._max_turns()]
        if not self._gives("-o", "--output-format"):
            arguments += ["--output-format", "stream-json"]
        if request.read_only:
            arguments += ["--approval-mode", "plan"]
        elif self._adds_grant:
            arguments.append(self.grants[0])
        return arguments

    def parser(self, request: AgentRequest) -> StreamParser:
        chosen = value_of(self._flags, "--output-format") or value_of(self._flags, "-o")
        if chosen is not None and chosen != "stream-json":
            return PlainTextParser()
        return FinalWordsParser(self.stream()) if request.mode is OutputMode.TEXT else self.stream()
