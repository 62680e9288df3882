"""The stream that ``copilot --output-format json`` prints, as normalized events.

It counts no tokens: what the session used is asked for at its end. Pieces of what follows whole, and what is of use to
its own screen only, are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from ralph.adapters.agents.excerpts import count_lines, head, one_line
from ralph.adapters.agents.faults import INTERRUPTED
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair, unknown
from ralph.adapters.agents.tools import OpenTools, tool_summary
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    Notice,
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
MAX_DENIALS: Final = 200
_DENIED: Final = "denied"

# --- what is read of each line -----------------------------------------------------------------------------


class _Line(Struct, gc=False):
    type: str
    data: Raw = Raw(b"{}")


class _Result(Struct, rename="camel", gc=False):
    session_id: str = ""
    exit_code: int | None = None
    usage: _Durations | None = None


class _Durations(Struct, rename="camel", gc=False):
    session_duration_ms: float = 0


class _Model(Struct, gc=False):
    model: str = ""


class _Message(Struct, rename="camel", gc=False):
    content: str = ""
    parent_tool_call_id: str | None = None


class _ToolCall(Struct, rename="camel", gc=False):
    tool_call_id: str
    tool_name: str = ""
    arguments: Raw = Raw(b"{}")
    parent_tool_call_id: str | None = None


class _Output(Struct, gc=False):
    content: str = ""


class _Fault(Struct, gc=False):
    message: str = ""
    code: str = ""


class _Shell(Struct, rename="camel", gc=False):
    exit_code: int | None = None


class _ToolEnd(Struct, rename="camel", gc=False):
    tool_call_id: str
    success: bool = True
    result: _Output | None = None
    error: _Fault | None = None
    shell_execution: _Shell | None = None
    parent_tool_call_id: str | None = None


class _SessionError(Struct, rename="camel", gc=False):
    error_type: str = ""
    message: str = ""
    status_code: int | None = None


class _Info(Struct, rename="camel", gc=False):
    info_type: str = ""
    message: str = ""


class _Reason(Struct, gc=False):
    reason: str = ""


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_result = msgspec.json.Decoder(_Result).decode
_decode_model = msgspec.json.Decoder(_Model).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_call = msgspec.json.Decoder(_ToolCall).decode
_decode_end = msgspec.json.Decoder(_ToolEnd).decode
_decode_error = msgspec.json.Decoder(_SessionError).decode
_decode_info = msgspec.json.Decoder(_Info).decode
_decode_reason = msgspec.json.Decoder(_Reason).decode

_PASSED_OVER: Final = frozenset(
    (
        "agent.interrupted",
        "assistant.idle",
        "assistant.intent",
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning_delta",
        "assistant.tool_call_delta",
        "assistant.turn_end",
        "assistant.turn_retry",
        "assistant.turn_start",
        "assistant.usage",
        "model.call_final_result",
        "model.call_finished",
        "model.call_start",
        "session.background_tasks_changed",
        "session.mcp_servers_loaded",
        "session.skills_loaded",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool.shell_output",
        "user.message",
    )
)


# --- the parser --------------------------------------------------------------------------------------------


class CopilotStreamParser:
    """Lines of one session → events. ``used_by``: what the session of that name has used, if anybody knows."""

    def __init__(self, used_by: Callable[[str], Usage | None] = lambda _: None) -> None:
        self._used_by = used_by
        self._session_id = ""
        self._tools = OpenTools()
        self._model = ""
        self._error = ""
        self._denials: list[str] = []

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        return [event for line in lines for event in self._parse_line(line)]

    def finish(self) -> Sequence[AgentEvent]:
        usage = self._used_by(self._session_id) if self._session_id else None
        return (UsageReported(usage),) if usage is not None and usage.total else _NOTHING

    def _parse_line(self, line: bytes) -> Sequence[AgentEvent]:
        try:
            return self._event(_decode_line(line), line)
        except UNREADABLE:
            return self._odd(line) if line.strip() else _NOTHING

    def _odd(self, line: bytes) -> Sequence[AgentEvent]:
        clean = repair(line)
        if clean is None:
            return (noise(line),)
        try:
            event = _decode_line(clean)
        except UNREADABLE:
            return (unknown(clean),)
        try:
            return self._event(event, clean)
        except UNREADABLE:
            # A line of a type we know, with something in it that we do not.
            is_result = event.type == "result"
            return self._result(_Result(exit_code=1)) if is_result else (unknown(clean),)

    def _event(self, event: _Line, line: bytes) -> Sequence[AgentEvent]:
        match event.type:
            case "assistant.message":
                message = _decode_message(event.data)
                parent = message.parent_tool_call_id or ""
                return (Text(message.content, True, parent),) if message.content else _NOTHING
            case "assistant.reasoning":
                message = _decode_message(event.data)
                parent = message.parent_tool_call_id or ""
                return (Reasoning(message.content, parent),) if message.content else _NOTHING
            case "tool.execution_start":
                return (self._tool_started(_decode_call(event.data)),)
            case "tool.execution_complete":
                return (self._tool_ended(_decode_end(event.data)),)
            case "session.error":
                return self._failed(_decode_error(event.data))
            case "model.call_failure":
                return (_retrying(_decode_error(event.data).status_code),)
            case "session.tools_updated":
                self._model = _decode_model(event.data).model
                return _NOTHING
            case "session.info" | "session.warning":
                info = _decode_info(event.data)
                is_news = info.message and info.info_type != "model_retry"
                return (Notice(one_line(info.message)),) if is_news else _NOTHING
            case "abort":
                self._error = head(f"aborted: {_decode_reason(event.data).reason or 'no reason given'}")
                return (ErrorReported(self._error, None, INTERRUPTED, True),)
            case "result":
                return self._result(_decode_result(line))
            case known if known in _PASSED_OVER:
                return _NOTHING
            case _:
                return (unknown(line),)

    def _tool_started(self, call: _ToolCall) -> AgentEvent:
        self._tools.open(call.tool_call_id, call.tool_name)
        summary = tool_summary(call.tool_name, call.arguments)
        return ToolStarted(call.tool_call_id, call.tool_name, summary, call.parent_tool_call_id or "")

    def _tool_ended(self, end: _ToolEnd) -> AgentEvent:
        name = self._tools.close(end.tool_call_id)
        output = end.result.content if end.result else end.error.message if end.error else ""
        if end.error is not None and end.error.code == _DENIED and len(self._denials) < MAX_DENIALS:
            self._denials.append(name)
        failed = not end.success or bool(end.shell_execution and end.shell_execution.exit_code)
        return ToolEnded(
            end.tool_call_id,
            name,
            head(output),
            failed,
            count_lines(output),
            len(output),
            end.parent_tool_call_id or "",
        )

    def _failed(self, error: _SessionError) -> Sequence[AgentEvent]:
        self._error = head(error.message) or error.error_type or "unknown error"
        return (ErrorReported(self._error, error.status_code, error.error_type, True),)

    def _result(self, result: _Result) -> Sequence[AgentEvent]:
        error = self._error or (f"exit status {result.exit_code}" if result.exit_code else "")
        seconds = result.usage.session_duration_ms / 1000 if result.usage else 0.0
        turn = TurnEnded(error=error, seconds=max(0.0, seconds), denials=tuple(self._denials))
        self._error, self._denials = "", []
        # Only now the session says its name.
        self._session_id = result.session_id
        return (SessionStarted(result.session_id, self._model), turn)


def _retrying(status: int | None) -> ErrorReported:
    why = f"status {status}" if status else "no answer"
    return ErrorReported(f"model API failed ({why}), trying again", status, "", False)
