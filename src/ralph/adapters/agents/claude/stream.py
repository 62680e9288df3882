"""The stream that claude prints (``--output-format stream-json``) and amp and qwen imitate, as normalized events.

Speed matters here: a session may print a hundred thousand lines. So each line is decoded straight into the
few fields that are needed (msgspec skips the rest without making objects), and only a line that does not fit
takes the slow path, block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents.claude.lines import (
    ApiError,
    AssistantLine,
    Block,
    Line,
    LooseMessage,
    RateLimitLine,
    ResultLine,
    SystemLine,
    TextBlock,
    ThinkingBlock,
    TokenCounts,
    ToolResultBlock,
    ToolUseBlock,
    UserLine,
    decode_api_error,
    decode_block,
    decode_line,
    decode_long_user_line,
    decode_loose_line,
)
from ralph.adapters.agents.claude.system import limit_events, system_events
from ralph.adapters.agents.excerpts import Measured, count_lines, head, measure, one_line
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair, unknown
from ralph.adapters.agents.long_texts import LONG_LINE, measure_long
from ralph.adapters.agents.todo_list import TODO_TOOLS, TodoList
from ralph.adapters.agents.tools import MAX_OPEN_TOOLS, tool_summary
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    Notice,
    Reasoning,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Usage,
    UsageReported,
)

SYNTHETIC_MODEL = "<synthetic>"
"""The "model" of messages that claude writes itself: error texts, not the assistant's words."""

MAX_COUNTED_MESSAGES = 1_024
"""The blocks of a message follow each other, interleaved at most with those of a few sub-agents."""

CONTEXT_FULL: Final = frozenset(("prompt_too_long", "blocking_limit", "rapid_refill_breaker"))
"""Ends of a turn that claude's errors before it call no more than an invalid request."""

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_COST_DIGITS: Final = 9  # sums of binary fractions have noise behind that


class ClaudeStreamParser:
    """Lines of one session → events. Remembers which tools are running, and what the turn said so far."""

    def __init__(self) -> None:
        self._open_tools: dict[str, str] = {}
        self._todo = TodoList()
        self._spoke = False  # someone said something since the last result: then its text is no news
        self._api_error = False  # claude reported the failure of this turn already
        self._cost_so_far = 0.0
        self._counted: set[str | None] = set()  # messages whose usage was taken
        self._used: list[TokenCounts] = []  # what they used, not reported yet

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        add, open_tools = events.append, self._open_tools
        counted = self._counted
        count, use = counted.add, self._used.append
        for line in lines:
            if len(line) > LONG_LINE and (ended := self._long_result(line)) is not None:
                events += ended
                continue
            try:
                event: Line = decode_line(line)
            except UNREADABLE:
                events += self._odd(line)
                continue
            # Nearly every line is one block of one of three kinds: those are done here, without further calls.
            if type(event) is AssistantLine:
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
                    if type(block) is TextBlock and block.text:
                        self._spoke = True
                        add(Text(block.text, True, parent))
                        continue
                    if type(block) is ToolUseBlock:
                        add(self._tool_use(block, parent))
                        continue
            elif type(event) is UserLine and len(event.message.content) == 1:
                block = event.message.content[0]
                if type(block) is ToolResultBlock and type(block.content) is str:
                    name = open_tools.pop(block.tool_use_id, None)
                    if name is not None:
                        add(_tool_ended(block, name, block.content, event.parent_tool_use_id or ""))
                        continue
            events += self._event(event, line)
        if self._used:
            events += self._report_usage()
        return events

    def _long_result(self, line: bytes) -> Sequence[AgentEvent] | None:
        """What is kept of a tool's long output; None if the line is anything else."""
        try:
            event = decode_long_user_line(line)
            (block,) = event.message.content
            output = measure_long(block.content)
        except (*UNREADABLE, ValueError):
            return None
        return self._answered(
            block.tool_use_id, output, event.parent_tool_use_id or "", failed=block.is_error is True
        )

    def _report_usage(self) -> Sequence[AgentEvent]:
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

    def _event(self, event: Line, line: bytes) -> Sequence[AgentEvent]:
        if isinstance(event, AssistantLine):
            message = event.message
            if message.model == SYNTHETIC_MODEL:
                return self._synthetic(message.content, line)
            return self._assistant(message.content, event.parent_tool_use_id or "")
        if isinstance(event, UserLine):
            return self._user(event.message.content, event.parent_tool_use_id or "")
        if isinstance(event, ResultLine):
            return self._result(event)
        if isinstance(event, SystemLine):
            return system_events(event)
        if isinstance(event, RateLimitLine):
            return limit_events(event.rate_limit_info)
        return _NOTHING

    def finish(self) -> Sequence[AgentEvent]:
        return _NOTHING

    def _assistant(self, content: list[Block] | str, parent: str) -> Sequence[AgentEvent]:
        """The assistant speaks and acts."""
        events: list[AgentEvent] = []
        for block in (TextBlock(content),) if isinstance(content, str) else content:
            if isinstance(block, TextBlock):
                if block.text:
                    self._spoke = True
                    events.append(Text(block.text, True, parent))
            elif isinstance(block, ToolUseBlock):
                events.append(self._tool_use(block, parent))
            elif isinstance(block, ThinkingBlock) and block.thinking:
                events.append(Reasoning(block.thinking, parent))
        return events

    def _tool_use(self, call: ToolUseBlock, parent: str) -> AgentEvent:
        name = call.name
        # A sub-agent's list is not the session's list.
        if name in TODO_TOOLS and not parent:
            changed = self._todo.take_call(call.id, name, bytes(call.input))
            if changed is not None:
                return changed
        open_tools = self._open_tools
        if len(open_tools) >= MAX_OPEN_TOOLS:
            # Half at once: taking single keys from the front of a dict gets slower with every one.
            for oldest in list(open_tools)[: MAX_OPEN_TOOLS // 2]:
                del open_tools[oldest]
        open_tools[call.id] = name
        return ToolStarted(call.id, name, tool_summary(name, call.input), parent)

    def _user(self, content: list[Block] | str, parent: str) -> Sequence[AgentEvent]:
        """Tools answer; and claude says things to the assistant."""
        events: list[AgentEvent] = []
        for block in (TextBlock(content),) if isinstance(content, str) else content:
            if isinstance(block, ToolResultBlock):
                output = block.content
                if not isinstance(output, str):
                    output = "\n".join(part.text or f"[{part.type}]" for part in output or ())
                failed = block.is_error is True
                events += self._answered(block.tool_use_id, measure(output), parent, failed=failed)
            elif isinstance(block, TextBlock) and not parent and block.text.strip():
                # Hook feedback, interruptions, the prompt replayed: never the assistant's own words.
                events.append(Notice(one_line(block.text)))
        return events

    def _answered(
        self, identity: str, output: Measured, parent: str, *, failed: bool
    ) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        name = self._open_tools.pop(identity, None)
        if name is None:
            answered = self._todo.take_answer(identity, output.head, failed=failed)
            name = ""
            if answered is not None:
                events += answered.changes
                if not failed:
                    return events
                name = answered.tool
        events.append(ToolEnded(identity, name, output.head, failed, output.lines, output.chars, parent))
        return events

    # --- claude itself

    def _synthetic(self, content: list[Block] | str, line: bytes) -> Sequence[AgentEvent]:
        self._spoke = True
        if isinstance(content, str):
            text = content
        else:
            text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
        try:
            failure = decode_api_error(line)
        except UNREADABLE:
            failure = ApiError()
        code = _code(failure)
        if not code and failure.api_error_status is None:
            return (Notice(head(text)),)
        self._api_error = True
        return (ErrorReported(head(text), failure.api_error_status, code, True),)

    def _result(self, result: ResultLine) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        words = result.result or ""
        error = ""
        if result.is_error or result.subtype.startswith("error"):
            error = head(words or _why(result))
            words = ""
            if not self._api_error:
                code = result.api_error_type or ("" if result.subtype == "success" else result.subtype)
                events.append(ErrorReported(error, result.api_error_status, code, True))
        elif words and not self._spoke:
            events.append(Text(words))  # --output-format json prints nothing but this
        events += self._report_usage()  # before the end, which includes it
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
                code=result.terminal_reason if error and result.terminal_reason in CONTEXT_FULL else "",
            )
        )
        self._spoke = self._api_error = False
        return events

    def _spent(self, result: ResultLine) -> tuple[Usage, float | None]:
        """What this turn cost. ``total_cost_usd`` counts the whole session, a resumed one included, and
        ``usage`` is zero when the budget ran out; the per-model figures since the last result are exact."""
        total = result.total_cost_usd
        models = result.model_usage_since_last_result
        if models is not None:
            usage, cost = Usage(), 0.0
            for model in models.values():
                usage += model.as_usage()
                cost += model.cost_usd
            self._cost_so_far = total or 0.0
            return usage, round(cost, _COST_DIGITS)
        usage = result.usage.as_usage() if result.usage else Usage()
        if total is None:
            return usage, None
        before, self._cost_so_far = self._cost_so_far, total
        return usage, round(total - before if total >= before else total, _COST_DIGITS)

    # --- lines that do not fit

    def _odd(self, line: bytes) -> Sequence[AgentEvent]:
        if not line.strip():
            return _NOTHING
        clean = repair(line)
        if clean is None:
            return (noise(line),)
        try:
            event: Line = decode_line(clean)
        except UNREADABLE:
            return self._loose(clean)
        return self._event(event, clean)

    def _loose(self, line: bytes) -> Sequence[AgentEvent]:
        """A line of a type we know, with something in it that we do not."""
        try:
            loose = decode_loose_line(line)
        except UNREADABLE:
            return (unknown(line),)
        match loose.type:
            case "assistant" | "user" if loose.message is not None:
                return self._loose_message(loose.type, loose.message, loose.parent_tool_use_id or "", line)
            case "result":
                return self._result(ResultLine(loose.subtype, loose.is_error, loose.result))
            case "system":
                return system_events(SystemLine(loose.subtype or "init", loose.session_id, loose.model))
            case _:
                return (unknown(line),)

    def _loose_message(
        self, speaker: str, message: LooseMessage, parent: str, line: bytes
    ) -> Sequence[AgentEvent]:
        events: list[AgentEvent] = []
        known: list[Block] = []
        take = self._assistant if speaker == "assistant" else self._user
        for raw in message.content:
            try:
                block: Block = decode_block(raw)
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


def _tool_ended(result: ToolResultBlock, name: str, output: str, parent: str) -> ToolEnded:
    failed = result.is_error is True
    return ToolEnded(result.tool_use_id, name, head(output), failed, count_lines(output), len(output), parent)


_VAGUE_CODES = frozenset(("unknown", "invalid_request"))


def _code(failure: ApiError) -> str:
    """The most telling of the names that claude gives a failure."""
    if failure.api_error:
        return failure.api_error
    if failure.error and failure.error not in _VAGUE_CODES:
        return failure.error
    return failure.api_error_type or failure.error or ""


def _why(result: ResultLine) -> str:
    """The reason of a failed turn that has no text. What is in brackets is for claude's developers."""
    if result.error:
        return result.error if isinstance(result.error, str) else result.error.message
    reasons = [reason for reason in result.errors or () if not reason.startswith("[")]
    names = [name for name in (result.subtype, result.terminal_reason) if name]
    return "; ".join(reasons) or ": ".join(names) or "unknown error"
