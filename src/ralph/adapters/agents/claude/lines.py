"""What is read of each line that claude prints: only the fields that are needed; msgspec skips the rest."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ralph.domain.agent.events import Usage


class Part(Struct, gc=False):
    """A piece of a tool's result: text, or something without words (image, tool_reference …)."""

    type: str = ""
    text: str = ""


class TextBlock(Struct, tag="text", gc=False):
    text: str = ""


class ThinkingBlock(Struct, tag="thinking", gc=False):
    thinking: str = ""


class RedactedThinkingBlock(Struct, tag="redacted_thinking", gc=False):
    pass


class ToolUseBlock(Struct, tag="tool_use", gc=False):
    id: str
    name: str
    input: Raw = Raw(b"{}")


class ToolResultBlock(Struct, tag="tool_result", gc=False):
    tool_use_id: str
    content: str | list[Part] | None = None
    is_error: bool | None = None


Block = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock


class TokenCounts(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def as_usage(self) -> Usage:
        return Usage(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            self.cache_creation_input_tokens or 0,
        )


class AssistantMessage(Struct, gc=False):
    content: list[Block] | str
    model: str | None = None
    id: str | None = None
    usage: TokenCounts | None = None


class UserMessage(Struct, gc=False):
    content: list[Block] | str


class LooseMessage(Struct, gc=False):
    content: list[Raw]
    model: str | None = None


class AssistantLine(Struct, tag="assistant", gc=False):
    message: AssistantMessage
    parent_tool_use_id: str | None = None


class UserLine(Struct, tag="user", gc=False):
    message: UserMessage
    parent_tool_use_id: str | None = None


class RawResultBlock(Struct, tag="tool_result", gc=False):
    tool_use_id: str
    content: Raw
    is_error: bool | None = None


class LongUserMessage(Struct, gc=False):
    content: list[RawResultBlock]


class LongUserLine(Struct, tag="user", gc=False):
    """What a tool printed, left where it is: as a text it would need as much memory again."""

    message: LongUserMessage
    parent_tool_use_id: str | None = None


class LooseLine(Struct, gc=False):
    """The least that must be right in a line for us to use it."""

    type: str
    message: LooseMessage | None = None
    parent_tool_use_id: str | None = None
    subtype: str = ""
    session_id: str | None = None
    model: str | None = None
    is_error: bool = False
    result: str | None = None


class ApiError(Struct, gc=False):
    """What a synthetic assistant line says about the failure."""

    error: str | None = None
    api_error: str | None = None
    api_error_type: str | None = None
    api_error_status: int | None = None


class StreamEventLine(Struct, tag="stream_event", gc=False):
    """A piece of a message that follows whole (``--include-partial-messages``)."""


class ToolProgressLine(Struct, tag="tool_progress", gc=False):
    """A heartbeat of a running tool."""


class BackgroundTask(Struct, gc=False):
    task_id: str = ""
    description: str = ""


class SystemLine(Struct, tag="system", gc=False):
    subtype: str = "init"  # some streams leave it out
    session_id: str | None = None
    model: str | None = None
    claude_code_version: str | None = None
    qwen_code_version: str | None = None
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
    tasks: list[BackgroundTask] = []
    data: Raw = Raw(b"")  # qwen's details


class RetryData(Struct, rename="camel", gc=False):
    """What qwen says about a request that it will make again."""

    attempt: int | None = None
    max_retries: int | None = None
    delay_ms: float | None = None


class LimitInfo(Struct, gc=False):
    status: str = ""
    resetsAt: float | None = None  # noqa: N815 - the name on the wire
    rateLimitType: str | None = None  # noqa: N815
    isUsingOverage: bool | None = None  # noqa: N815
    # Not decoded further: a surprise in there must not hide that the limit was reached.
    utilization: Any = None
    unifiedWindows: Any = None  # noqa: N815


class RateLimitLine(Struct, tag="rate_limit_event", gc=False):
    rate_limit_info: LimitInfo


class ModelUsage(Struct, rename="camel", gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_usd: float = msgspec.field(default=0.0, name="costUSD")

    def as_usage(self) -> Usage:
        return Usage(
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
        )


class Denial(Struct, gc=False):
    tool_name: str = ""


class ErrorBody(Struct, gc=False):
    """An error as qwen writes it."""

    message: str = ""


class ResultLine(Struct, tag="result", gc=False):
    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    error: str | ErrorBody | None = None
    errors: list[str] | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    total_cost_usd: float | None = None
    num_turns: int | None = None
    duration_ms: float | None = None
    usage: TokenCounts | None = None
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    permission_denials: list[Denial] | None = None


Line = AssistantLine | UserLine | ResultLine | SystemLine | RateLimitLine | StreamEventLine | ToolProgressLine

decode_line = msgspec.json.Decoder(Line).decode
decode_long_user_line = msgspec.json.Decoder(LongUserLine).decode
decode_loose_line = msgspec.json.Decoder(LooseLine).decode
decode_block = msgspec.json.Decoder(Block).decode
decode_api_error = msgspec.json.Decoder(ApiError).decode
decode_retry = msgspec.json.Decoder(RetryData).decode
