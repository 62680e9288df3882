"""The stream that ``opencode run --format json`` prints, as normalized events.

It has no event for the end: a step that was not ended by tool calls was the last one. Tools come when they are finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from ralph.adapters.agents.excerpts import count_lines, head
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair, unknown
from ralph.adapters.agents.todo_list import TodoList
from ralph.adapters.agents.tools import tool_summary
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    Reasoning,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Usage,
    UsageReported,
)

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_COST_DIGITS: Final = 9
_GOES_ON: Final = frozenset(("tool-calls", "unknown"))
"""Reasons of a step's end after which it takes another one."""

_REFUSED: Final = "rejected permission"
MAX_DENIALS: Final = 200

# --- what is read of each line -----------------------------------------------------------------------------


class _Cache(Struct, gc=False):
    read: int = 0
    write: int = 0


class _Tokens(Struct, gc=False):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache | None = None

    def as_usage(self) -> Usage:
        cache = self.cache or _Cache()
        return Usage(self.input, self.output + self.reasoning, cache.read, cache.write)


class _Metadata(Struct, gc=False):
    exit: int | None = None


class _ToolState(Struct, gc=False):
    status: str = ""
    input: Raw = Raw(b"{}")
    output: str | None = None
    error: str | None = None
    metadata: _Metadata | None = None


class _TextPart(Struct, gc=False):
    text: str = ""


class _ToolPart(Struct, gc=False):
    tool: str = ""
    callID: str = ""  # noqa: N815 - the name on the wire
    state: _ToolState | None = None


class _StepFinishPart(Struct, gc=False):
    reason: str = ""
    tokens: _Tokens | None = None
    cost: float | None = None


class _StepStart(Struct, tag="step_start", gc=False):
    sessionID: str = ""  # noqa: N815


class _Words(Struct, tag="text", gc=False):
    part: _TextPart


class _Thoughts(Struct, tag="reasoning", gc=False):
    part: _TextPart


class _ToolUse(Struct, tag="tool_use", gc=False):
    part: _ToolPart


class _StepFinish(Struct, tag="step_finish", gc=False):
    part: _StepFinishPart


class _ErrorData(Struct, rename="camel", gc=False):
    message: str = ""
    status_code: int | None = None
    response_headers: dict[str, str] = {}


class _ErrorBody(Struct, gc=False):
    name: str = ""
    data: _ErrorData | None = None


class _Error(Struct, tag="error", gc=False):
    error: _ErrorBody


_Line = _StepStart | _Words | _Thoughts | _ToolUse | _StepFinish | _Error


class _LooseLine(Struct, gc=False):
    type: str


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_loose_line = msgspec.json.Decoder(_LooseLine).decode


# --- the parser --------------------------------------------------------------------------------------------


class OpencodeStreamParser:
    """Lines of one session → events. ``model`` is what the user chose: the stream does not name it."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._todo = TodoList()
        self._is_open = False
        self._usage = Usage()
        self._cost: float | None = None
        self._steps = 0
        self._denials: list[str] = []

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for line in lines:
            try:
                event: _Line = _decode_line(line)
            except UNREADABLE:
                events += self._odd(line)
                continue
            events += self._event(event)
        return events

    def finish(self) -> Sequence[AgentEvent]:
        # A tool that was refused ends the session without a last step.
        return (self._turn_ended(),) if self._is_open and self._denials else _NOTHING

    def _event(self, event: _Line) -> Sequence[AgentEvent]:
        match event:
            case _StepStart():
                if self._is_open:
                    return _NOTHING
                self._is_open = True
                return (SessionStarted(event.sessionID, self._model),)
            case _Words():
                return (Text(event.part.text),) if event.part.text else _NOTHING
            case _Thoughts():
                return (Reasoning(event.part.text),) if event.part.text else _NOTHING
            case _ToolUse():
                return self._tool(event.part)
            case _StepFinish():
                return self._step_finished(event.part)
            case _Error():
                return (_failed(event.error),)

    def _tool(self, call: _ToolPart) -> Sequence[AgentEvent]:
        state = call.state or _ToolState()
        if call.tool == "todowrite" and state.status == "completed":
            changed = self._todo.take_call(call.callID, "TodoWrite", bytes(state.input))
            if changed is not None:
                return (changed,)
        refused = state.status == "error" and _REFUSED in (state.error or "")
        if refused and len(self._denials) < MAX_DENIALS:
            self._denials.append(call.tool)
        output = state.output or state.error or ""
        failed = state.status == "error" or bool(state.metadata and state.metadata.exit)
        return (
            ToolStarted(call.callID, call.tool, tool_summary(call.tool, state.input)),
            ToolEnded(call.callID, call.tool, head(output), failed, count_lines(output), len(output)),
        )

    def _step_finished(self, step: _StepFinishPart) -> Sequence[AgentEvent]:
        usage = step.tokens.as_usage() if step.tokens else Usage()
        self._usage += usage
        self._steps += 1
        # A provider without prices costs nothing, says opencode: that is not known to be true.
        cost = step.cost or None
        if cost is not None:
            self._cost = round((self._cost or 0.0) + cost, _COST_DIGITS)
        reported = UsageReported(usage, cost)
        if step.reason in _GOES_ON:
            return (reported,)
        return (reported, self._turn_ended())

    def _turn_ended(self) -> TurnEnded:
        turn = TurnEnded(
            usage=self._usage,
            cost_usd=self._cost,
            turns=self._steps,
            denials=tuple(self._denials),
        )
        self._is_open = False
        self._usage, self._cost, self._steps, self._denials = Usage(), None, 0, []
        return turn

    # --- lines that do not fit

    def _odd(self, line: bytes) -> Sequence[AgentEvent]:
        if not line.strip():
            return _NOTHING
        clean = repair(line)
        if clean is None:
            return (noise(line),)
        try:
            event: _Line = _decode_line(clean)
        except UNREADABLE:
            return self._loose(clean)
        return self._event(event)

    def _loose(self, line: bytes) -> Sequence[AgentEvent]:
        try:
            loose = _decode_loose_line(line)
        except UNREADABLE:
            return (unknown(line),)
        if loose.type == "error":
            return (ErrorReported("unknown error", None, "", True),)
        return (unknown(line),)


def _failed(error: _ErrorBody) -> ErrorReported:
    data = error.data or _ErrorData()
    message = head(data.message) or error.name or "unknown error"
    wait = data.response_headers.get("retry-after", "")
    if wait.isdecimal():
        message = f"{message} (try again in {wait} seconds)"
    return ErrorReported(message, data.status_code, error.name, True)
