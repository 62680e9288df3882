"""What is read of each line that codex prints: only the fields that are needed."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ralph.domain.agent.events import Usage


class Message(Struct, gc=False):
    message: str = ""


class AgentMessageItem(Struct, tag="agent_message", gc=False):
    text: str = ""


class ReasoningItem(Struct, tag="reasoning", gc=False):
    text: str = ""


class CommandItem(Struct, tag="command_execution", gc=False):
    id: str
    command: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str = ""


class Change(Struct, gc=False):
    path: str = ""
    kind: str = ""


class FileChangeItem(Struct, tag="file_change", gc=False):
    id: str
    changes: list[Change] = []
    status: str = ""


class McpPart(Struct, gc=False):
    type: str = ""
    text: str = ""


class McpResult(Struct, gc=False):
    content: list[McpPart] = []


class McpCallItem(Struct, tag="mcp_tool_call", gc=False):
    id: str
    server: str = ""
    tool: str = ""
    arguments: Any = None
    result: McpResult | None = None
    error: Message | None = None
    status: str = ""


class AgentState(Struct, gc=False):
    status: str = ""
    message: str | None = None


class CollabCallItem(Struct, tag="collab_tool_call", gc=False):
    id: str
    tool: str = ""
    prompt: str | None = None
    agents_states: dict[str, AgentState] = {}
    status: str = ""


class WebSearchItem(Struct, tag="web_search", gc=False):
    id: str
    query: str = ""


class Todo(Struct, gc=False):
    text: str = ""
    completed: bool = False


class TodoListItem(Struct, tag="todo_list", gc=False):
    items: list[Todo] = []


class ErrorItem(Struct, tag="error", gc=False):
    """A warning: the session continues."""

    message: str = ""


Item = (
    AgentMessageItem
    | ReasoningItem
    | CommandItem
    | FileChangeItem
    | McpCallItem
    | CollabCallItem
    | WebSearchItem
    | TodoListItem
    | ErrorItem
)


class ItemStarted(Struct, tag="item.started", gc=False):
    item: Item


class ItemUpdated(Struct, tag="item.updated", gc=False):
    item: Item


class ItemCompleted(Struct, tag="item.completed", gc=False):
    item: Item


class ThreadStarted(Struct, tag="thread.started", gc=False):
    thread_id: str = ""


class TurnStarted(Struct, tag="turn.started", gc=False):
    pass


class TokenCounts(Struct, gc=False):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    def as_usage(self) -> Usage:
        """Here the input includes what was read from and written to the cache; ours does not."""
        fresh = self.input_tokens - self.cached_input_tokens - self.cache_write_input_tokens
        return Usage(
            max(0, fresh), self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens
        )


class TurnCompleted(Struct, tag="turn.completed", gc=False):
    usage: TokenCounts | None = None


class TurnFailed(Struct, tag="turn.failed", gc=False):
    error: Message | None = None


class ErrorLine(Struct, tag="error", gc=False):
    message: str = ""


Line = (
    ItemStarted
    | ItemUpdated
    | ItemCompleted
    | ThreadStarted
    | TurnStarted
    | TurnCompleted
    | TurnFailed
    | ErrorLine
)


class AnyItem(Struct, gc=False):
    type: str = ""


class LooseLine(Struct, gc=False):
    """A line with something in it that we do not know."""

    type: str
    item: AnyItem | None = None


decode_line = msgspec.json.Decoder(Line).decode
decode_loose_line = msgspec.json.Decoder(LooseLine).decode
