"""The stream that claude prints (``--output-format stream-json``) and amp imitates, as normalized events.

Speed matters here: a session may print a hundred thousand lines. So each line is decoded straight into the
few fields that are needed (msgspec skips the rest without making objects), and only a line that does not fit
takes the slow path, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ralph.adapters.agents.excerpts import count_lines, head, one_line
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repaired, unknown
from ralph.adapters.agents.todo_list import TODO_TOOLS, TodoList
from ralph.domain.agent_events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
    UsageReported,
)

SYNTHETIC_MODEL = "<synthetic>"
"""The "model" of messages that claude writes itself: error texts, not the assistant's words."""

MAX_OPEN_TOOLS = 4_096
"""Calls whose end never came are forgotten beyond this, oldest first."""

MAX_COUNTED_MESSAGES = 1_024
"""The blocks of a message follow each other, interleaved at most with those of a few sub-agents."""

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_COST_DIGITS: Final = 9  # sums of binary fractions have noise behind that


# --- what is read of each line -----------------------------------------------------------------------------


class _Part(Struct, gc=False):
    """A piece of a tool's result: text, or something without words (image, tool_reference …)."""

    type: str = ""
    text: str = ""


class _Text(Struct, tag="text", gc=False):
    text: str = ""


class _Thinking(Struct, tag="thinking", gc=False):
    thinking: str = ""


class _RedactedThinking(Struct, tag="redacted_thinking", gc=False):
    pass


class _ToolUse(Struct, tag="tool_use", gc=False):
    id: str
    name: str
    input: Raw = Raw(b"{}")


class _ToolResult(Struct, tag="tool_result", gc=False):
    tool_use_id: str
    content: str | list[_Part] | None = None
    is_error: bool | None = None


_Block = _Text | _Thinking | _RedactedThinking | _ToolUse | _ToolResult


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def normalized(self) -> Usage:
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )


class _AssistantMessage(Struct, gc=False):
    content: list[_Block] | str
    model: str | None = None
    id: str | None = None
    usage: _Usage | None = None


class _UserMessage(Struct, gc=False):
    content: list[_Block] | str


class _LooseMessage(Struct, gc=False):
    content: list[Raw]
    model: str | None = None


class _Assistant(Struct, tag="assistant", gc=False):
    message: _AssistantMessage
    parent_tool_use_id: str | None = None


class _User(Struct, tag="user", gc=False):
    message: _UserMessage
    parent_tool_use_id: str | None = None


class _LooseLine(Struct, gc=False):
    """The least that must be right in a line for us to use it."""

    type: str
    message: _LooseMessage | None = None
    parent_tool_use_id: str | None = None
    subtype: str = ""
    session_id: str | None = None
    model: str | None = None
    is_error: bool = False
    result: str | None = None


class _ApiError(Struct, gc=False):
    """What a synthetic assistant line says about the failure."""

    error: str | None = None
    api_error: str | None = None
    api_error_type: str | None = None
    api_error_status: int | None = None


class _StreamEvent(Struct, tag="stream_event", gc=False):
    """A piece of a message that follows whole (``--include-partial-messages``)."""


class _ToolProgress(Struct, tag="tool_progress", gc=False):
    """A heartbeat of a running tool."""


class _System(Struct, tag="system", gc=False):
    subtype: str = "init"  # seed 001's example has none
    session_id: str | None = None
    model: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    tool_name: str | None = None
    message: str | None = None
    hook_name: str | None = None
    outcome: str | None = None
    exit_code: int | None = None
    content: str | None = None
    text: str | None = None
    status: str | None = None
    description: str | None = None
    summary: str | None = None


class _LimitInfo(Struct, gc=False):
    status: str = ""
    resetsAt: float | None = None  # noqa: N815 - the name on the wire
    rateLimitType: str | None = None  # noqa: N815
    isUsingOverage: bool | None = None  # noqa: N815


class _RateLimit(Struct, tag="rate_limit_event", gc=False):
    rate_limit_info: _LimitInfo


class _ModelUsage(Struct, rename="camel", gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: float = msgspec.field(default=0.0, name="costUSD")

    def normalized(self) -> Usage:
        return Usage(
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
        )


class _Denial(Struct, gc=False):
    tool_name: str = ""


class _Result(Struct, tag="result", gc=False):
    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    error: str | None = None
    errors: list[str] | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    total_cost_usd: float | None = None
    num_turns: int | None = None
    duration_ms: float | None = None
    usage: _Usage | None = None
    model_usage_since_last_result: dict[str, _ModelUsage] | None = None
    permission_denials: list[_Denial] | None = None


_Line = _Assistant | _User | _Result | _System | _RateLimit | _StreamEvent | _ToolProgress

_decode_line = msgspec.json.Decoder(_Line).decode
_decode_loose_line = msgspec.json.Decoder(_LooseLine).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_api_error = msgspec.json.Decoder(_ApiError).decode


# --- the parser --------------------------------------------------------------------------------------------


class ClaudeStreamParser:
    """Lines of one session → events. Remembers which tools are running, and what the turn said so far."""

    def __init__(self) -> None:
        self._open_tools: dict[str, str] = {}
        self._todo = TodoList()
        self._spoke = False  # somebody said something since the last result: then its text is no news
        self._api_error = False  # claude reported the failure of this turn already
        self._cost_so_far = 0.0
        self._counted: set[str | None] = set()  # messages whose usage was taken
        self._used: list[_Usage] = []  # what they used, not reported yet

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        add, open_tools = events.append, self._open_tools
        counted = self._counted
        count, use = counted.add, self._used.append
        for line in lines:
            try:
                event: _Line = _decode_line(line)
            except UNREADABLE:
                events += self._odd(line)
                continue
            # Nearly every line is one block of one of three kinds: those are done here, without further calls.
            if type(event) is _Assistant:
                message = event.message
                content = message.content
                usage = message.usage
                if usage is not None:
                    # Each block repeats its message's usage; a message without a name has one line only (amp).
                    identity = message.id
                    if identity not in counted or identity is None:
                        count(identity)
                        use(usage)
                if len(content) == 1 and message.model != SYNTHETIC_MODEL:
                    block, parent = content[0], event.parent_tool_use_id or ""
                    if type(block) is _Text and block.text:
                        self._spoke = True
                        add(Text(block.text, True, parent))
                        continue
                    if type(block) is _ToolUse:
                        add(self._tool_use(block, parent))
                        continue
            elif type(event) is _User and len(event.message.content) == 1:
                block = event.message.content[0]
                if type(block) is _ToolResult and type(block.content) is str:
                    name = open_tools.pop(block.tool_use_id, None)
                    if name is not None:
                        add(_tool_ended(block, name, block.content, event.parent_tool_use_id or ""))
                        continue
            events += self._event(event, line)
        if self._used:
            events += self._reported_usage()
        return events

    def _reported_usage(self) -> Sequence[AgentEvent]:
        """What the messages since the last report used, in one: a session may have a hundred thousand of them."""
        fresh = written = read = cached = 0
        for used in self._used:
            fresh += used.input_tokens or 0
            written += used.output_tokens or 0
            read += used.cache_read_input_tokens or 0
            cached += used.cache_creation_input_tokens or 0
        self._used.clear()
        if len(self._counted) > MAX_COUNTED_MESSAGES:
            self._counted.clear()
        usage = Usage(fresh, written, read, cached)
        return (UsageReported(usage),) if usage.total else _NOTHING

    def _event(self, event: _Line, line: bytes) -> Sequence[AgentEvent]:
        if isinstance(event, _Assistant):
            message = event.message
            if message.model == SYNTHETIC_MODEL:
                return self._synthetic(message.content, line)
            return self._assistant(message.content, event.parent_tool_use_id or "")
        if isinstance(event, _User):
            return self._user(event.message.content, event.parent_tool_use_id or "")
        if isinstance(event, _Result):
            return self._result(event)
        if isinstance(event, _System):
            return _system(event)
        if isinstance(event, _RateLimit):
            return _limit(event.rate_limit_info)
        return _NOTHING

    def finish(self) -> Sequence[AgentEvent]:
        return _NOTHING

    def _assistant(self, content: list[_Block] | str, parent: str) -> Sequence[AgentEvent]:
        """The assistant speaks and acts."""
        events: list[AgentEvent] = []
        for block in (_Text(content),) if isinstance(content, str) else content:
            if isinstance(block, _Text):
                if block.text:
                    self._spoke = True
                    events.append(Text(block.text, True, parent))
            elif isinstance(block, _ToolUse):
                events.append(self._tool_use(block, parent))
            elif isinstance(block, _Thinking) and block.thinking:
                events.append(Reasoning(block.thinking, parent))
        return events

    def _tool_use(self, call: _ToolUse, parent: str) -> AgentEvent:
        name = call.name
        # A sub-agent's list is not the session's list.
        if name in TODO_TOOLS and not parent:
            changed = self._todo.called(call.id, name, bytes(call.input))
            if changed is not None:
                return changed
        open_tools = self._open_tools
        if len(open_tools) >= MAX_OPEN_TOOLS:
            # Half at once: taking single keys from the front of a dict gets slower with every one.
            for oldest in list(open_tools)[: MAX_OPEN_TOOLS // 2]:
                del open_tools[oldest]
        open_tools[call.id] = name
        return ToolStarted(call.id, name, tool_summary(name, call.input), parent)

    def _user(self, content: list[_Block] | str, parent: str) -> Sequence[AgentEvent]:
        """Tools answer; and claude says things to the assistant."""
        events: list[AgentEvent] = []
        for block in (_Text(content),) if isinstance(content, str) else content:
            if isinstance(block, _ToolResult):
                output = block.content
                if not isinstance(output, str):
                    output = "\n".join(part.text or f"[{part.type}]" for part in output or ())
                identity = block.tool_use_id
                name = self._open_tools.pop(identity, None)
                failed = block.is_error is True
                if name is None:
                    answered = self._todo.answered(identity, output, failed=failed)
                    name = ""
                    if answered is not None:
                        events += answered.changes
                        if not failed:
                            continue
                        name = answered.tool
                events.append(_tool_ended(block, name, output, parent))
            elif isinstance(block, _Text) and not parent and block.text.strip():
                # Hook feedback, interruptions, the prompt replayed: never the assistant's own words.
                events.append(Notice(one_line(block.text)))
        return events

    # --- claude itself

    def _synthetic(self, content: list[_Block] | str, line: bytes) -> Sequence[AgentEvent]:
        self._spoke = True
        if isinstance(content, str):
            text = content
        else:
            text = "\n".join(block.text for block in content if isinstance(block, _Text))
        try:
            failure = _decode_api_error(line)
        except UNREADABLE:
            failure = _ApiError()
        code = _code(failure)
        if not code and failure.api_error_status is None:
            return (Notice(head(text)),)
        self._api_error = True
        return (ErrorReported(head(text), failure.api_error_status, code, True),)

    def _result(self, result: _Result) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        words = result.result or ""
        error = ""
        if result.is_error or result.subtype.startswith("error"):
            error = head(words or result.error or _why(result))
            words = ""
            if not self._api_error:
                code = result.api_error_type or ("" if result.subtype == "success" else result.subtype)
                events.append(ErrorReported(error, result.api_error_status, code, True))
        elif words and not self._spoke:
            events.append(Text(words))  # --output-format json prints nothing but this
        events += self._reported_usage()  # before the end, which includes it
        usage, cost = self._spent(result)
        events.append(
            TurnEnded(
                text=words,
                error=error,
                usage=usage,
                cost_usd=cost,
                turns=result.num_turns or 0,
                seconds=(result.duration_ms or 0) / 1000,
                denials=tuple(denial.tool_name for denial in result.permission_denials or ()),
            )
        )
        self._spoke = self._api_error = False
        return events

    def _spent(self, result: _Result) -> tuple[Usage, float | None]:
        """What this turn cost. ``total_cost_usd`` counts the whole session, a resumed one included, and
        ``usage`` is zero when the budget ran out; the per-model figures since the last result are exact."""
        total = result.total_cost_usd
        models = result.model_usage_since_last_result
        if models is not None:
            usage, cost = Usage(), 0.0
            for model in models.values():
                usage += model.normalized()
                cost += model.cost_usd
            self._cost_so_far = total or 0.0
            return usage, round(cost, _COST_DIGITS)
        usage = result.usage.normalized() if result.usage else Usage()
        if total is None:
            return usage, None
        before, self._cost_so_far = self._cost_so_far, total
        return usage, round(total - before if total >= before else total, _COST_DIGITS)

    # --- lines that do not fit

    def _odd(self, line: bytes) -> Sequence[AgentEvent]:
        if not line.strip():
            return _NOTHING
        clean = repaired(line)
        if clean is None:
            return (noise(line),)
        try:
            event: _Line = _decode_line(clean)
        except UNREADABLE:
            return self._loose(clean)
        return self._event(event, clean)

    def _loose(self, line: bytes) -> Sequence[AgentEvent]:
        """A line of a type we know, with something in it that we do not."""
        try:
            loose = _decode_loose_line(line)
        except UNREADABLE:
            return (unknown(line),)
        match loose.type:
            case "assistant" | "user" if loose.message is not None:
                return self._loose_message(loose.type, loose.message, loose.parent_tool_use_id or "", line)
            case "result":
                return self._result(_Result(loose.subtype, loose.is_error, loose.result))
            case "system":
                return _system(_System(loose.subtype or "init", loose.session_id, loose.model))
            case _:
                return (unknown(line),)

    def _loose_message(
        self, speaker: str, message: _LooseMessage, parent: str, line: bytes
    ) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        known: list[_Block] = []
        take = self._assistant if speaker == "assistant" else self._user
        for raw in message.content:
            try:
                block: _Block = _decode_block(raw)
            except UNREADABLE:
                events.append(unknown(bytes(raw), within=speaker))
                continue
            known.append(block)
            if message.model != SYNTHETIC_MODEL:
                events += take([block], parent)
        if message.model == SYNTHETIC_MODEL:
            events += self._synthetic(known, line)
        return events


# --- single events -----------------------------------------------------------------------------------------


def _tool_ended(result: _ToolResult, name: str, output: str, parent: str) -> ToolEnded:
    failed = result.is_error is True
    return ToolEnded(result.tool_use_id, name, head(output), failed, count_lines(output), len(output), parent)


def _limit(info: _LimitInfo) -> Sequence[AgentEvent]:
    rejected = info.status == "rejected" and not info.isUsingOverage
    return (LimitReported(rejected, info.rateLimitType or "", info.resetsAt),)


_VAGUE_CODES = frozenset(("unknown", "invalid_request"))


def _code(failure: _ApiError) -> str:
    """The most telling of the names that claude gives a failure."""
    if failure.api_error:
        return failure.api_error
    if failure.error and failure.error not in _VAGUE_CODES:
        return failure.error
    return failure.api_error_type or failure.error or ""


def _why(result: _Result) -> str:
    """The reason of a failed turn that has no text. What stands in brackets is for claude's developers."""
    reasons = [reason for reason in result.errors or () if not reason.startswith("[")]
    names = [name for name in (result.subtype, result.terminal_reason) if name]
    return "; ".join(reasons) or ": ".join(names) or "unknown error"


def _system(event: _System) -> Sequence[AgentEvent]:
    match event.subtype:
        case "init":
            return (SessionStarted(event.session_id or "", event.model or ""),)
        case "api_retry":
            return (ErrorReported(_retry(event), event.error_status, event.error or "", False),)
        case "permission_denied":
            text = f"{event.tool_name or 'a tool'} was not permitted: {event.message or 'no reason given'}"
        case "hook_response":
            if event.outcome == "success":
                return _NOTHING
            failed = f", exit status {event.exit_code}" if event.exit_code else ""
            text = f"hook {event.hook_name or ''}: {event.outcome or 'ended'}{failed}"
        case "informational" | "notification" | "model_fallback":
            text = event.content or event.text or event.message or event.subtype
        case "task_started":
            text = f"background task started: {event.description or ''}"
        case "task_notification":
            text = f"background task {event.status or 'ended'}: {event.summary or ''}"
        case "compact_boundary":
            text = "the context was compacted"
        case (
            "hook_started" | "hook_progress" | "status" | "thinking_tokens" | "task_progress" | "task_updated"
        ):
            return _NOTHING
        case _:
            return (Unknown(f"system/{event.subtype}"),)
    return (Notice(one_line(text)),)


def _retry(event: _System) -> str:
    of = f"/{event.max_retries}" if event.max_retries else ""
    wait = (event.retry_delay_ms or 0) / 1000
    return f"model API failed, retry {event.attempt or '?'}{of} in {wait:.1f} s"


# --- tool summaries ----------------------------------------------------------------------------------------


_InputDecoder = Callable[[Raw | bytes], Any]


def _only(field: str) -> _InputDecoder:
    """Reads one string field of a tool's input; the others (a file's content) are skipped, not decoded."""
    struct = msgspec.defstruct("Input", [("value", str, "")], rename={"value": field}, gc=False)
    return msgspec.json.Decoder(struct).decode


_command, _file_path, _path, _pattern = _only("command"), _only("file_path"), _only("path"), _only("pattern")
_description, _url, _query = _only("description"), _only("url"), _only("query")

_SHOWN: Final[dict[str, _InputDecoder]] = {
    "Bash": _command,
    "Read": _file_path,
    "Write": _file_path,
    "Edit": _file_path,
    "MultiEdit": _file_path,
    "NotebookEdit": _only("notebook_path"),
    "Grep": _pattern,
    "Glob": _pattern,
    "LS": _path,
    "Task": _description,
    "Agent": _description,
    "WebFetch": _url,
    "WebSearch": _query,
    "ToolSearch": _query,
    "Skill": _only("skill"),
    # amp's names
    "edit_file": _path,
    "create_file": _path,
    "read_web_page": _url,
    "web_search": _query,
}
_decode_any_input = msgspec.json.Decoder(dict[str, Any]).decode
_MAX_SHORT_CHARS = 200


def tool_summary(name: str, arguments: Raw | bytes) -> str:
    """A tool's input in one line: the field known to matter, else the first short string in it."""
    decode = _SHOWN.get(name)
    try:
        if decode is not None and (text := decode(arguments).value):
            return one_line(text)
    except UNREADABLE:
        pass  # an input of another shape: take what is there
    try:
        return first_short_string(_decode_any_input(arguments))
    except UNREADABLE:
        return ""


def first_short_string(values: Mapping[str, object]) -> str:
    for value in values.values():
        if isinstance(value, str) and value and len(value) <= _MAX_SHORT_CHARS:
            return one_line(value)
    return ""
