"""The stream that ``gemini --output-format stream-json`` prints, as normalized events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from ralph.adapters.agents.excerpts import count_lines, head, one_line
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair, unknown
from ralph.adapters.agents.todo_list import MAX_ITEMS, status_of
from ralph.adapters.agents.tools import OpenTools, tool_summary
from ralph.domain.agent.events import (
    NO_RESULT,
    AgentEvent,
    ErrorReported,
    Notice,
    SessionStarted,
    Text,
    TodoChanged,
    TodoItem,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Usage,
)
from ralph.patterns import pattern

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_END_OF_BLOCK: Final = Text("", True)
AUTO: Final = "auto"
"""The "model" of a session whose router chooses; the end of the turn names those it chose."""

# --- what is read of each line -----------------------------------------------------------------------------


class _Init(Struct, tag="init", gc=False):
    session_id: str = ""
    model: str = ""


class _Message(Struct, tag="message", gc=False):
    role: str = ""
    content: str = ""
    delta: bool = False


class _ToolUse(Struct, tag="tool_use", gc=False):
    tool_id: str
    tool_name: str = ""
    parameters: Raw = Raw(b"{}")


class _Failure(Struct, gc=False):
    type: str = ""
    message: str = ""


class _ToolResult(Struct, tag="tool_result", gc=False):
    tool_id: str
    status: str = ""
    output: str | None = None
    error: _Failure | None = None


class _Error(Struct, tag="error", gc=False):
    severity: str = "error"
    message: str = ""


class _Tokens(Struct, gc=False):
    total_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached: int = 0

    def as_usage(self) -> Usage:
        """The input includes what came from the cache; what was thought is missing in the output, not in the total."""
        fresh = max(0, self.input_tokens - self.cached)
        written = max(self.output_tokens, self.total_tokens - self.input_tokens)
        return Usage(fresh, written, self.cached)


class _Stats(_Tokens, gc=False):
    duration_ms: float = 0
    models: dict[str, _Tokens] = {}


class _Result(Struct, tag="result", gc=False):
    status: str = ""
    error: _Failure | None = None
    stats: _Stats | None = None


_Line = _Init | _Message | _ToolUse | _ToolResult | _Error | _Result


class _LooseLine(Struct, gc=False):
    type: str
    status: str = ""


class _Todo(Struct, gc=False):
    description: str = ""
    status: str = ""


class _Todos(Struct, gc=False):
    todos: list[_Todo]


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_loose_line = msgspec.json.Decoder(_LooseLine).decode
_decode_todos = msgspec.json.Decoder(_Todos).decode

_CODE = pattern(r'"code":\s*(\d{3})\b')
_BODY = pattern(r"\[API Error: (\{.*\})\]", re.DOTALL)


class _ApiError(Struct, gc=False):
    message: str
    code: int


class _ApiErrorBody(Struct, gc=False):
    error: _ApiError


_decode_body = msgspec.json.Decoder(_ApiErrorBody).decode


def status_in(message: str) -> int | None:
    """The HTTP status in the JSON body that an error message quotes."""
    found = _CODE.search(message)
    return int(found[1]) if found else None


def readable(message: str) -> str:
    """An error message, without the JSON around it."""
    body = _BODY.search(message)
    if body is None:
        return head(message)
    try:
        error = _decode_body(body[1]).error
    except UNREADABLE:
        return head(message)
    return head(f"{error.message} (status {error.code})")


# --- the parser --------------------------------------------------------------------------------------------


class GeminiStreamParser:
    """Lines of one session → events. Words come in pieces: they are one block until something else happens."""

    def __init__(self) -> None:
        self._session = ""
        self._model = ""
        self._tools = OpenTools()
        self._todo_calls = OpenTools()
        self._error = ""  # the last one that was reported in this turn
        self._is_speaking = False
        self._is_over = True

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
        events = self._silent()
        if not self._is_over:
            # A signal ends gemini with status 0 and without any event.
            events.append(ErrorReported("ended before its result", None, NO_RESULT, True))
        return events

    def _event(self, event: _Line) -> Sequence[AgentEvent]:
        if isinstance(event, _Message):
            return self._message(event)
        return [*self._silent(), *self._other(event)]

    def _silent(self) -> list[AgentEvent]:
        """The assistant has finished a block of words, if it was in one."""
        was_speaking, self._is_speaking = self._is_speaking, False
        return [_END_OF_BLOCK] if was_speaking else []

    def _message(self, message: _Message) -> Sequence[AgentEvent]:
        if message.role != "assistant":
            return self._silent()  # the prompt, as it was sent
        if not message.content:
            return _NOTHING
        if message.delta:
            self._is_speaking = True
            return (Text(message.content, False),)
        return (*self._silent(), Text(message.content))

    def _other(self, event: _Init | _ToolUse | _ToolResult | _Error | _Result) -> Sequence[AgentEvent]:
        match event:
            case _Init():
                self._session, self._is_over = event.session_id, False
                self._model = "" if event.model == AUTO else event.model
                return (SessionStarted(event.session_id, self._model),)
            case _ToolUse():
                return (self._tool_started(event),)
            case _ToolResult():
                is_known = self._todo_calls.close(event.tool_id) and event.status != "error"
                return _NOTHING if is_known else (self._tool_ended(event),)
            case _Error():
                if event.severity != "error":
                    return (Notice(one_line(event.message)),)
                self._error = readable(event.message)
                return (ErrorReported(self._error, status_in(event.message), "", True),)
            case _Result():
                return self._result(event)

    def _tool_started(self, call: _ToolUse) -> AgentEvent:
        if call.tool_name == "write_todos":
            try:
                todos = _decode_todos(call.parameters).todos[:MAX_ITEMS]
            except UNREADABLE:
                pass  # another shape: show it as any tool
            else:
                self._todo_calls.open(call.tool_id, call.tool_name)
                return TodoChanged(
                    tuple(TodoItem(one_line(todo.description), status_of(todo.status)) for todo in todos)
                )
        self._tools.open(call.tool_id, call.tool_name)
        return ToolStarted(call.tool_id, call.tool_name, tool_summary(call.tool_name, call.parameters))

    def _tool_ended(self, result: _ToolResult) -> AgentEvent:
        output = result.output or (result.error.message if result.error else "")
        return ToolEnded(
            result.tool_id,
            self._tools.close(result.tool_id),
            head(output),
            result.status == "error",
            count_lines(output),
            len(output),
        )

    def _result(self, result: _Result) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        error = ""
        if result.status != "success":
            said = result.error.message if result.error else ""
            error = readable(said) or self._error or "unknown error"
            if said:
                code = result.error.type if result.error else ""
                events.append(ErrorReported(error, status_in(said), code, True))
        stats = result.stats or _Stats()
        if not self._model and stats.models:
            # Which model it was says what it cost.
            self._model = max(stats.models, key=lambda name: stats.models[name].total_tokens)
            events.append(SessionStarted(self._session, self._model))
        events.append(
            TurnEnded(error=error, usage=stats.as_usage(), seconds=max(0.0, stats.duration_ms / 1000))
        )
        self._error, self._is_over = "", True
        return events

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
        return self._result(_Result(loose.status)) if loose.type == "result" else (unknown(line),)
