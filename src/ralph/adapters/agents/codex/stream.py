"""The stream that ``codex e --json`` prints, as normalized events."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from ralph.adapters.agents.codex.lines import (
    AgentMessageItem,
    CollabCallItem,
    CommandItem,
    ErrorItem,
    ErrorLine,
    FileChangeItem,
    Item,
    ItemCompleted,
    ItemStarted,
    ItemUpdated,
    Line,
    McpCallItem,
    ReasoningItem,
    ThreadStarted,
    TodoListItem,
    TokenCounts,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    WebSearchItem,
    decode_line,
    decode_loose_line,
)
from ralph.adapters.agents.excerpts import count_lines, head, one_line
from ralph.adapters.agents.json_lines import UNREADABLE, noise, repair, unknown
from ralph.adapters.agents.todo_list import todo_items
from ralph.adapters.agents.tools import first_short_string
from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    TodoChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Usage,
)
from ralph.patterns import pattern

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_NOTHING_USED: Final = Usage()
MAX_OPEN_ITEMS = 4_096
MAX_DECLINED = 200

SHELL: Final = "shell"
"""What we call codex's one tool for commands."""


class CodexStreamParser:
    """Lines of one session → events. Remembers which items are open, what was declined, and the last words.

    ``model`` is what the user chose: the stream does not name it. ``used_before``: by the thread that is resumed.
    """

    def __init__(self, model: str = "", used_before: Usage = _NOTHING_USED) -> None:
        self._model = model
        self._used_before = used_before
        self._declined: list[str] = []
        self._open: set[str] = set()
        self._words = ""
        self._todo: TodoChanged | None = None

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        return [event for line in lines for event in self._parse_line(line)]

    def _parse_line(self, line: bytes) -> Sequence[AgentEvent]:
        try:
            event: Line = decode_line(line)
        except UNREADABLE:
            return self._odd(line)
        match event:
            case ItemCompleted():
                return self._completed(event.item)
            case ItemStarted():
                return self._started(event.item)
            case ItemUpdated():
                return self._updated(event.item)
            case ThreadStarted():
                return (SessionStarted(event.thread_id, self._model),)
            case TurnStarted():
                return _NOTHING
            case TurnCompleted():
                return self._turn_ended("", event.usage)
            case TurnFailed():
                message, _ = error_text(event.error.message if event.error else "")
                return self._turn_ended(message, None)
            case ErrorLine():
                message, code = error_text(event.message)
                return (ErrorReported(message, status_in(message), code, not is_retry(message)),)

    def finish(self) -> Sequence[AgentEvent]:
        return _NOTHING

    def _turn_ended(self, error: str, usage: TokenCounts | None) -> Sequence[AgentEvent]:
        words, self._words = self._words, ""
        declined, self._declined = self._declined, []
        return (
            TurnEnded(
                text="" if error else words,
                error=error,
                usage=usage.as_usage().since(self._used_before) if usage else _NOTHING_USED,
                denials=tuple(declined),
                # Each turn reports what the whole thread has used.
                cumulative=usage is not None,
            ),
        )

    def _started(self, item: Item) -> Sequence[AgentEvent]:
        match item:
            case CommandItem() | FileChangeItem() | McpCallItem() | CollabCallItem() | WebSearchItem():
                if len(self._open) >= MAX_OPEN_ITEMS:
                    self._open.clear()
                self._open.add(item.id)
                return (_tool_started(item),)
            case _:
                return self._updated(item)

    def _updated(self, item: Item) -> Sequence[AgentEvent]:
        if isinstance(item, TodoListItem):
            changed = TodoChanged(todo_items([(todo.text, todo.completed) for todo in item.items]))
            if changed != self._todo:  # the end of the turn repeats it
                self._todo = changed
                return (changed,)
        return _NOTHING

    def _completed(self, item: Item) -> Sequence[AgentEvent]:
        match item:
            case AgentMessageItem():
                self._words = item.text
                return (Text(item.text),) if item.text else _NOTHING
            case ReasoningItem():
                return (Reasoning(item.text),) if item.text else _NOTHING
            case ErrorItem():
                return (Notice(one_line(item.message)),)
            case TodoListItem():
                return self._updated(item)
            case _:
                ended = _tool_ended(item)
                if not isinstance(item, WebSearchItem) and item.status == _DECLINED:
                    self._declined = [*self._declined, ended.name][-MAX_DECLINED:]
                if item.id in self._open:
                    self._open.discard(item.id)
                    return (ended,)
                return (_tool_started(item), ended)

    # --- lines that do not fit

    def _odd(self, line: bytes) -> Sequence[AgentEvent]:
        if not line.strip():
            return _NOTHING
        clean = repair(line)
        if clean is None:
            return (noise(line),)
        try:
            decode_line(clean)
        except UNREADABLE:
            return self._loose(clean)
        return self._parse_line(clean)

    def _loose(self, line: bytes) -> Sequence[AgentEvent]:
        try:
            loose = decode_loose_line(line)
        except UNREADABLE:
            return (unknown(line),)
        match loose.type:
            case "turn.completed":
                return self._turn_ended("", None)
            case "turn.failed":
                return self._turn_ended(UNKNOWN_ERROR, None)
            case "item.started" | "item.updated" if loose.item is not None:
                return _NOTHING  # once per item is enough
            case _:
                item = loose.item
                return (unknown(line, type_=f"{loose.type}/{item.type}" if item is not None else ""),)


# --- tools -------------------------------------------------------------------------------------------------

_Tool = CommandItem | FileChangeItem | McpCallItem | CollabCallItem | WebSearchItem
_DECLINED: Final = "declined"
_FAILED: Final = frozenset(("failed", _DECLINED))
_SHELL_WRAPPER = pattern(r"^(?:\S*/)?(?:ba|z|da)?sh -l?c ")
_MAX_UNWRAPPED_CHARS = 4_000


def _tool_started(item: _Tool) -> ToolStarted:
    match item:
        case CommandItem():
            return ToolStarted(item.id, SHELL, one_line(unwrapped(item.command)))
        case FileChangeItem():
            changes = ", ".join(f"{change.kind} {change.path}".strip() for change in item.changes[:20])
            return ToolStarted(item.id, "edit", one_line(changes))
        case McpCallItem():
            arguments = item.arguments if isinstance(item.arguments, Mapping) else {}
            return ToolStarted(item.id, f"{item.server}.{item.tool}", first_short_string(arguments))
        case CollabCallItem():
            return ToolStarted(item.id, item.tool, one_line(item.prompt or ""))
        case WebSearchItem():
            return ToolStarted(item.id, "web_search", one_line(item.query))


def _tool_ended(item: _Tool) -> ToolEnded:
    started = _tool_started(item)
    output, failed = _outcome(item)
    return ToolEnded(item.id, started.name, head(output), failed, count_lines(output), len(output))


def _outcome(item: _Tool) -> tuple[str, bool]:
    match item:
        case CommandItem():
            return item.aggregated_output or "", bool(item.exit_code) or item.status in _FAILED
        case FileChangeItem():
            return "", item.status in _FAILED
        case McpCallItem():
            if item.error is not None:
                return item.error.message, True
            parts = item.result.content if item.result else []
            return "\n".join(part.text or f"[{part.type}]" for part in parts), item.status in _FAILED
        case CollabCallItem():
            words = (state.message for state in item.agents_states.values())
            return "\n".join(word for word in words if word), item.status in _FAILED
        case WebSearchItem():
            return "", False


def unwrapped(command: str) -> str:
    """The command itself, without the shell that codex starts it with."""
    if len(command) <= _MAX_UNWRAPPED_CHARS and _SHELL_WRAPPER.match(command):
        try:
            words = shlex.split(command)
        except ValueError:
            return command
        if len(words) == len(("shell", "-lc", "script")):
            return words[-1]
    return command


# --- errors ------------------------------------------------------------------------------------------------


class _ApiError(Struct, gc=False):
    message: str = ""
    type: str | None = None
    code: str | None = None


class _ApiErrorBody(Struct, gc=False):
    error: _ApiError


_decode_api_error = msgspec.json.Decoder(_ApiErrorBody).decode
_STATUS = pattern(r"\b(?:unexpected|last) status:? (\d{3})\b")
_RETRY: Final = "Reconnecting"
UNKNOWN_ERROR: Final = "unknown error"


def error_text(message: str) -> tuple[str, str]:
    """(text, code) of an error message, which may be the whole JSON body of the model's answer."""
    if message.startswith("{"):
        try:
            error = _decode_api_error(message).error
        except UNREADABLE:
            return head(message), ""
        return head(error.message or message), error.code or error.type or ""
    return head(message) or UNKNOWN_ERROR, ""


def status_in(message: str) -> int | None:
    found = _STATUS.search(message)
    return int(found[1]) if found else None


def is_retry(message: str) -> bool:
    """Codex continues by itself after these."""
    return message.startswith(_RETRY)
