"""The messages of ACP version 1, as far as ralph reads them; what it writes is a line of JSON-RPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ralph.adapters.agents.json_lines import UNREADABLE

VERSION: Final = 1
NOT_FOUND: Final = -32601
AUTH_REQUIRED: Final = -32000

_ABSENT: Final = (b"", b"null")


def is_given(value: Raw) -> bool:
    return bytes(value) not in _ABSENT


class Message(Struct, gc=False):
    """A request has ``method`` and ``id``, a notification no ``id``, a response no ``method``."""

    id: Raw = Raw()
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw()
    error: Raw = Raw()


class RpcError(Struct, gc=False):
    code: int = 0
    message: str = ""
    data: Raw = Raw()


# --- opening a session -------------------------------------------------------------------------------------


class AuthMethod(Struct, gc=False):
    id: str = ""
    name: str = ""


class SessionCapabilities(Struct, gc=False):
    resume: Raw = Raw()


class Capabilities(Struct, rename="camel", gc=False):
    session_capabilities: SessionCapabilities | None = None


class Initialized(Struct, rename="camel", gc=False):
    protocol_version: int | str
    agent_capabilities: Capabilities | None = None
    auth_methods: list[AuthMethod] | None = None


class Mode(Struct, gc=False):
    id: str
    name: str = ""


class Modes(Struct, rename="camel", gc=False):
    available_modes: list[Mode] = []


class Model(Struct, rename="camel", gc=False):
    model_id: str
    name: str = ""


class Models(Struct, rename="camel", gc=False):
    """Not in the protocol any more, but several agents still choose their model by this."""

    available_models: list[Model] = []
    current_model_id: str = ""


class Choice(Struct, gc=False):
    """An entry of a list, or (``options``) a group of entries."""

    value: str = ""
    name: str = ""
    options: list[Choice] = []


class ConfigOption(Struct, rename="camel", gc=False):
    id: str
    category: str | None = None
    type: str = ""
    current_value: str | bool = ""
    options: list[Choice] = []


class Opened(Struct, rename="camel", gc=False):
    """Only the id must be right: what else cannot be read is not offered."""

    session_id: str = ""
    modes: Raw = Raw()
    models: Raw = Raw()
    config_options: Raw = Raw()


# --- a turn ------------------------------------------------------------------------------------------------


class Content(Struct, gc=False):
    type: str = ""
    text: str = ""


class Update(Struct, tag_field="sessionUpdate", rename="camel", kw_only=True, gc=False):
    meta: Raw = msgspec.field(default=Raw(), name="_meta")


class Chunk(Update, kw_only=True, gc=False):
    content: Content
    message_id: str | None = None


class AgentWords(Chunk, tag="agent_message_chunk", gc=False):
    pass


class AgentThoughts(Chunk, tag="agent_thought_chunk", gc=False):
    pass


class UserWords(Chunk, tag="user_message_chunk", gc=False):
    pass


class ToolFields(Struct, rename="camel", gc=False):
    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: Raw = Raw()
    raw_input: Raw = Raw()
    raw_output: Raw = Raw()
    meta: Raw = msgspec.field(default=Raw(), name="_meta")


class ToolCall(ToolFields, tag_field="sessionUpdate", tag="tool_call", gc=False):
    pass


class ToolUpdate(ToolFields, tag_field="sessionUpdate", tag="tool_call_update", gc=False):
    pass


class PlanEntry(Struct, gc=False):
    content: str = ""
    status: str = ""


class Plan(Update, tag="plan", kw_only=True, gc=False):
    entries: list[PlanEntry]


class Cost(Struct, gc=False):
    amount: float
    currency: str = ""


class UsageUpdate(Update, tag="usage_update", gc=False):
    """``used`` and ``size`` of the context window are of no use to ralph."""

    cost: Cost | None = None


class Commands(Update, tag="available_commands_update", gc=False):
    pass


class ModeChanged(Update, tag="current_mode_update", gc=False):
    pass


class ConfigChanged(Update, tag="config_option_update", gc=False):
    pass


class InfoChanged(Update, tag="session_info_update", gc=False):
    pass


AnyUpdate = (
    AgentWords | AgentThoughts | UserWords | ToolCall | ToolUpdate | Plan | UsageUpdate
    | Commands | ModeChanged | ConfigChanged | InfoChanged
)  # fmt: skip


class Notification(Struct, rename="camel", gc=False):
    update: AnyUpdate
    session_id: str = ""


class _Kind(Struct, rename="camel", gc=False):
    session_update: str = ""


class _LooseNotification(Struct, gc=False):
    update: _Kind


class ToolContent(Struct, gc=False):
    type: str = ""
    content: Content | None = None


class PermissionOption(Struct, rename="camel", gc=False):
    option_id: str
    kind: str = ""
    name: str = ""


class PermissionRequest(Struct, rename="camel", gc=False):
    tool_call: ToolFields
    options: list[PermissionOption] = []
    session_id: str = ""


class Tokens(Struct, rename="camel", gc=False):
    """What a turn used: input without what came from the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class TurnResult(Struct, rename="camel", gc=False):
    stop_reason: str
    usage: Raw = Raw()
    meta: Raw = msgspec.field(default=Raw(), name="_meta")


# --- what agents put into _meta ----------------------------------------------------------------------------


class ClaudeMeta(Struct, rename="camel", gc=False):
    parent_tool_use_id: str | None = None
    tool_name: str | None = None


class UpdateMeta(Struct, rename="camel", gc=False):
    """claude's adapter and qwen say here which tool it is, and which sub-agent speaks."""

    claude_code: ClaudeMeta | None = None
    parent_tool_call_id: str | None = None
    tool_name: str | None = None
    usage: Raw = Raw()


class QwenTokens(Struct, rename="camel", gc=False):
    """The input includes what came from the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None


class GeminiTokens(Struct, frozen=True, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0


class GeminiModelUsage(Struct, gc=False):
    model: str = ""
    token_count: GeminiTokens = GeminiTokens()


class GeminiQuota(Struct, gc=False):
    token_count: GeminiTokens
    model_usage: list[GeminiModelUsage] = []


class TurnMeta(Struct, gc=False):
    quota: Raw = Raw()
    usage: Raw = Raw()


# --- reading and writing -----------------------------------------------------------------------------------

decode_message = msgspec.json.Decoder(Message).decode
decode_notification = msgspec.json.Decoder(Notification).decode
_decode_loose = msgspec.json.Decoder(_LooseNotification).decode


def kind_of_update(params: Raw) -> str:
    """What an update calls itself, if it says no more that we understand."""
    try:
        return _decode_loose(params).update.session_update
    except UNREADABLE:
        return ""


def read(raw: Raw | bytes, shape: Any) -> Any:
    """As this shape; None if it is something else."""
    if bytes(raw) in _ABSENT:
        return None
    try:
        return msgspec.json.decode(raw, type=shape)
    except UNREADABLE:
        return None


def line(**fields: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"


def request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return line(id=number, method=method, params=params)


def notification(method: str, params: Mapping[str, object]) -> bytes:
    return line(method=method, params=params)


def answer(identity: Raw, result: Mapping[str, object]) -> bytes:
    return line(id=identity, result=result)


def refusal(identity: Raw, code: int, message: str) -> bytes:
    return line(id=identity, error={"code": code, "message": message})
