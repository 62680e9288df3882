"""What Gemini CLI and Qwen Code, which grew out of it, have in common."""

from __future__ import annotations

from abc import abstractmethod

from ralph.adapters.agents.arguments import value_of, without
from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.adapters.agents.structured import StructuredAdapter
from ralph.engine.ports import AgentRequest, OutputMode, StreamParser

PERMITS: tuple[str, ...] = ("--approval-mode", "--allowed-tools")


class GeminiFamilyAdapter(StructuredAdapter):
    """``-o stream-json --yolo``, prompt on stdin."""

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

    @abstractmethod
    def stream(self, request: AgentRequest) -> StreamParser:
        """The parser of its events."""

    def parser(self, request: AgentRequest) -> StreamParser:
        chosen = value_of(self._flags, "--output-format") or value_of(self._flags, "-o")
        if chosen is not None and chosen != "stream-json":
            return PlainTextParser()
        stream = self.stream(request)
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream
