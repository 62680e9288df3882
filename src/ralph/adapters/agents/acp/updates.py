"""What an ACP agent tells while it works (``session/update``), as normalized events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Raw

from ralph.adapters.agents.acp.messages import (
    AgentThoughts,
    AgentWords,
    AnyUpdate,
    Plan,
    QwenTokens,
    ToolCall,
    ToolContent,
    ToolFields,
    ToolUpdate,
    UpdateMeta,
    UsageUpdate,
    UserWords,
    is_given,
    read,
)
from ralph.adapters.agents.excerpts import count_lines, head, one_line
from ralph.adapters.agents.todo_list import MAX_ITEMS, status_of
from ralph.adapters.agents.tools import MAX_OPEN_TOOLS, tool_summary
from ralph.domain.agent.events import (
    AgentEvent,
    Reasoning,
    Text,
    TodoChanged,
    TodoItem,
    ToolEnded,
    ToolStarted,
    Usage,
)
from ralph.patterns import pattern
from ralph.values import dataclass

_NOTHING: Final[tuple[AgentEvent, ...]] = ()
_END_OF_BLOCK: Final = Text("", True)
_NO_META: Final = UpdateMeta()
_PLACE: Final = frozenset(("cwd",))
_ONE_WORD = pattern(r"[\w.:/-]{1,60}")
_ENDED: Final = frozenset(("completed", "failed"))
_SAID_KEPT = 2_000


@dataclass(slots=True)
class _Call:
    """A tool call as far as it was told."""

    name: str = ""
    kind: str = ""
    summary: str = ""
    parent: str = ""
    is_shown: bool = False
    is_over: bool = False


class Turn:
    """The updates of one turn. ``said`` is what the assistant said so far, cut; ``tools`` counts its calls."""

    def __init__(self) -> None:
        self.said = ""
        self.tools = 0
        self.cost_usd: float | None = None
        self.usage = Usage()  # as told along with the words (qwen)
        self._calls: dict[str, _Call] = {}
        self._is_speaking = False
        self._message = ""  # the one that the current block belongs to

    def take(self, update: AnyUpdate, *, elsewhere: str = "") -> Sequence[AgentEvent]:
        """``elsewhere``: the session that it is about, if that is not ours but a sub-agent's."""
        match update:
            case AgentWords():
                meta = _meta(update.meta)
                self._count(meta)
                return self._words(update, elsewhere or _parent(meta))
            case AgentThoughts():
                parent = elsewhere or _parent(_meta(update.meta))
                return (*self.end_block(), Reasoning(update.content.text, parent))
            case UserWords():
                return self.end_block()  # the prompt, as it was sent
            case ToolCall() | ToolUpdate():
                return (*self.end_block(), *self.tool(update, elsewhere=elsewhere))
            case Plan():
                items = tuple(
                    TodoItem(one_line(entry.content), status_of(entry.status))
                    for entry in update.entries[:MAX_ITEMS]
                )
                return (*self.end_block(), TodoChanged(items))
            case UsageUpdate():
                if update.cost is not None and update.cost.currency.upper() == "USD":
                    self.cost_usd = update.cost.amount
                return _NOTHING
            case _:
                return _NOTHING  # its commands, its mode, its title

    def finish(self) -> list[AgentEvent]:
        """What was held back: calls that were announced and never begun."""
        waiting = [(identity, call) for identity, call in self._calls.items() if not call.is_shown]
        return [*self.end_block(), *(event for each in waiting for event in self._show(*each))]

    def end_block(self) -> list[AgentEvent]:
        was_speaking, self._is_speaking = self._is_speaking, False
        return [_END_OF_BLOCK] if was_speaking else []

    def kind_of(self, identity: str) -> str:
        call = self._calls.get(identity)
        return call.kind if call is not None else ""

    def name_of(self, identity: str) -> str:
        call = self._calls.get(identity)
        return call.name if call is not None else ""

    def tool(self, told: ToolFields, *, elsewhere: str = "", asked: bool = False) -> Sequence[AgentEvent]:
        """A call may be told first by its beginning, by its end, or by asking for permission (``asked``)."""
        identity = told.tool_call_id
        call = self._calls.get(identity)
        if call is None:
            call = self._open(identity)
        if call.is_over:
            return _NOTHING
        self._describe(call, told, elsewhere)
        events: list[AgentEvent] = []
        # What it is about comes in a moment.
        is_blank = told.status == "pending" and is_given(told.raw_input) and not _has_input(told)
        if asked or not is_blank:
            events += self._show(identity, call)
        if told.status in _ENDED:
            call.is_over = True
            output = _output(told)
            is_error = told.status == "failed"
            lines = count_lines(output)
            events.append(
                ToolEnded(identity, call.name, head(output), is_error, lines, len(output), call.parent)
            )
        return events

    def _open(self, identity: str) -> _Call:
        if len(self._calls) >= MAX_OPEN_TOOLS:
            for oldest in list(self._calls)[: MAX_OPEN_TOOLS // 2]:
                del self._calls[oldest]
        call = self._calls[identity] = _Call()
        return call

    def _describe(self, call: _Call, told: ToolFields, elsewhere: str) -> None:
        meta = _meta(told.meta)
        title = told.title or ""
        is_name = bool(_ONE_WORD.fullmatch(title))
        call.kind = one_line(told.kind or "", 60) or call.kind
        call.parent = elsewhere or _parent(meta) or call.parent
        call.name = _tool_name(meta) or call.name or (title if is_name else "") or call.kind or "tool"
        is_vague = is_name or not title
        summary = tool_summary(call.name, told.raw_input) if is_vague and _has_input(told) else ""
        call.summary = summary or (one_line(title) if not is_name else "") or call.summary

    def _show(self, identity: str, call: _Call) -> Sequence[AgentEvent]:
        if call.is_shown:
            return _NOTHING
        call.is_shown = True
        self.tools += not call.parent
        return (ToolStarted(identity, call.name, call.summary, call.parent),)

    def _words(self, words: AgentWords, parent: str) -> Sequence[AgentEvent]:
        text = words.content.text
        if not text:
            return _NOTHING
        if parent:
            return (*self.end_block(), Text(text, True, parent))
        if len(self.said) < _SAID_KEPT:
            self.said += text[:_SAID_KEPT]
        message = words.message_id or ""
        ended = self.end_block() if message != self._message else []
        self._message, self._is_speaking = message, True
        return (*ended, Text(text, False))

    def _count(self, meta: UpdateMeta) -> None:
        tokens: QwenTokens | None = read(meta.usage, QwenTokens)
        if tokens is not None:
            self.usage += usage_with_cache_inside(tokens)


def usage_with_cache_inside(tokens: QwenTokens) -> Usage:
    """Thoughts are a part of the output unless the total says otherwise."""
    cached, thought = tokens.cached_read_tokens or 0, tokens.thought_tokens or 0
    is_apart = tokens.total_tokens >= tokens.input_tokens + tokens.output_tokens + thought > 0
    output = tokens.output_tokens + (thought if is_apart else 0)
    return Usage(max(0, tokens.input_tokens - cached), output, cached)


def _meta(raw: Raw) -> UpdateMeta:
    meta: UpdateMeta | None = read(raw, UpdateMeta)
    return meta or _NO_META


def _parent(meta: UpdateMeta) -> str:
    """The call of the sub-agent that it comes from."""
    claude = meta.claude_code.parent_tool_use_id if meta.claude_code is not None else None
    return claude or meta.parent_tool_call_id or ""


def _tool_name(meta: UpdateMeta) -> str:
    claude = meta.claude_code.tool_name if meta.claude_code is not None else None
    return one_line(claude or meta.tool_name or "", 60)


def _has_input(told: ToolFields) -> bool:
    """More than where it is to run: opencode tells that first."""
    fields: dict[str, Raw] | None = read(told.raw_input, dict[str, Raw])
    return bool(fields.keys() - _PLACE) if fields is not None else is_given(told.raw_input)


def _output(told: ToolFields) -> str:
    items: list[ToolContent] = read(told.content, list[ToolContent]) or []
    texts = [item.content.text for item in items if item.content is not None and item.content.text]
    if texts:
        return "\n".join(texts)
    plain = read(told.raw_output, str)
    if isinstance(plain, str):
        return plain
    fields: dict[str, object] = read(told.raw_output, dict[str, object]) or {}
    return next((value for value in fields.values() if isinstance(value, str)), "")
