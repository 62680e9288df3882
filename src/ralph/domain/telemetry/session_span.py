"""One session of an agent on its way to becoming a span, with the tools that it uses."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from ralph.domain.agent.events import AgentEvent, SessionStarted, Text, ToolEnded, ToolStarted
from ralph.domain.loop.events import AgentEnded
from ralph.domain.loop.session_report import Ending
from ralph.domain.telemetry import conventions as names
from ralph.domain.telemetry.identity import below
from ralph.domain.telemetry.span import Moment, Span, Value, known, shorten
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.values import dataclass, field

CONTENT_CHARS = 20_000
"""Of a prompt, an answer, or what a tool was given and gave."""
MOST_OPEN_TOOLS = 1000
"""An agent that never says that a tool ended must not fill the memory."""
_ORDERLY = (Ending.EXITED, Ending.STOPPED, Ending.LIMITED)


@dataclass(slots=True)
class OpenTool:
    started: ToolStarted
    at: float
    id: str


@dataclass(slots=True)
class OpenSession:
    """``prompt`` is empty unless texts are wanted."""

    id: str
    parent_id: str
    agent: str
    purpose: str
    start: float
    prompt: str = ""
    has_content: bool = False
    model: str = ""
    conversation: str = ""
    said: Excerpt = field(default_factory=lambda: Excerpt(CONTENT_CHARS, Keep.TAIL))
    tools: dict[str, OpenTool] = field(default_factory=dict)
    calls: int = 0

    def take(self, events: Iterable[AgentEvent], at: float) -> Iterator[Span]:
        for event in events:
            match event:
                case ToolStarted():
                    yield from self._begin_tool(event, at)
                case ToolEnded():
                    yield from self._end_tool(event, at)
                case SessionStarted():
                    self.model, self.conversation = (
                        event.model or self.model,
                        event.session_id or self.conversation,
                    )
                case Text() if self.has_content and not event.parent:
                    self.said.add(event.text)
                    if event.final:
                        self.said.add("\n")
                case _:
                    pass

    def end(self, event: AgentEnded, at: float) -> Iterator[Span]:
        fault = event.fault
        error = fault.kind if fault is not None else ""
        if not error and event.ending not in _ORDERLY:
            error = str(event.ending)
        spend = event.spend
        attributes = {
            **names.usage_attributes(spend.usage),
            names.AGENT_VERSION: event.version,
            "ralph.cost_usd": spend.cost_usd,
            "ralph.cost_is_partial": spend.is_partly_unknown or None,
            "ralph.session.ending": str(event.ending),
            "ralph.session.exit_code": event.exit_code,
            "ralph.session.tools": event.tools,
            "ralph.session.tool_errors": event.tool_errors,
            "ralph.session.denied_tools": len(event.denials),
        }
        message = fault.reason if fault is not None else (f"ended: {error}" if error else "")
        yield from self._close(at, error, message, known(attributes))

    def cut(self, at: float, error: str, message: str) -> Iterator[Span]:
        """It has no end of its own."""
        yield from self._close(at, error, message, {})

    def _close(self, at: float, error: str, message: str, more: dict[str, Value]) -> Iterator[Span]:
        for call in list(self.tools.values()):
            yield self._tool_span(call, at, "unfinished", "the session ended before the tool did")
        texts: dict[str, Value] = {}
        if self.has_content and self.prompt:
            texts[names.INPUT_MESSAGES] = names.message("user", self.prompt)
        if self.has_content and self.said.total:
            texts[names.OUTPUT_MESSAGES] = names.message("assistant", self.said.text().strip())
        yield Span(
            name=f"{names.INVOKE_AGENT} {self.agent}",
            id=self.id,
            parent_id=self.parent_id,
            start=self.start,
            end=at,
            attributes=known(
                {
                    names.OPERATION: names.INVOKE_AGENT,
                    names.AGENT_NAME: self.agent,
                    names.PROVIDER_NAME: names.provider_of(self.agent),
                    names.REQUEST_MODEL: self.model,
                    names.CONVERSATION_ID: self.conversation,
                    "ralph.session.purpose": self.purpose,
                }
            )
            | more
            | texts,
            error=error,
            message=shorten(message),
        )

    def _begin_tool(self, event: ToolStarted, at: float) -> Iterator[Span]:
        self.calls += 1
        if event.id in self.tools:
            return  # some agents tell of a call twice
        if len(self.tools) >= MOST_OPEN_TOOLS:
            oldest = self.tools.pop(next(iter(self.tools)))
            yield self._tool_span(oldest, at, "unfinished", "the agent did not say that it ended")
        self.tools[event.id] = OpenTool(event, at, below(self.id, f"{self.calls} {event.id}"))

    def _end_tool(self, event: ToolEnded, at: float) -> Iterator[Span]:
        call = self.tools.pop(event.id, None)
        if call is None:  # its start was not told
            self.calls += 1
            started = ToolStarted(event.id, event.name)
            call = OpenTool(started, at, below(self.id, f"{self.calls} {event.id}"))
        figures: dict[str, Value] = {
            "ralph.tool.output_lines": event.lines,
            "ralph.tool.output_chars": event.chars,
        }
        if self.has_content and event.output:
            figures[names.TOOL_CALL_RESULT] = event.output[:CONTENT_CHARS]
        error = "tool_error" if event.is_error else ""
        yield self._tool_span(call, at, error, "the tool reported an error" if error else "", figures)

    def _tool_span(
        self, call: OpenTool, at: float, error: str, message: str, more: dict[str, Value] | None = None
    ) -> Span:
        name = call.started.name or "unknown"
        attributes: dict[str, Value] = known(
            {
                names.OPERATION: names.EXECUTE_TOOL,
                names.TOOL_NAME: name,
                names.TOOL_CALL_ID: call.started.id,
                names.AGENT_NAME: self.agent,
                names.CONVERSATION_ID: self.conversation,
                names.TOOL_CALL_ARGUMENTS: call.started.summary[:CONTENT_CHARS] if self.has_content else "",
            }
        )
        # The tool of a sub-agent is a part of the call that started it.
        parent = self.tools.get(call.started.parent)
        return Span(
            name=f"{names.EXECUTE_TOOL} {name}",
            id=call.id,
            parent_id=self.id if parent is None else parent.id,
            start=call.at,
            end=at,
            attributes=attributes | (more or {}),
            error=error,
            message=message,
        )


def program_of(command: str) -> str:
    """What people call the agent behind a command line; empty if that cannot be told."""
    try:
        first, *_ = shlex.split(command) or [""]
    except ValueError:
        return ""
    return first.rpartition("/")[2]


def moment(name: str, at: float, **attributes: Value | None) -> Moment:
    """``attributes`` get the prefix that ralph's own have."""
    return Moment(name, at, known({f"ralph.{key}": value for key, value in attributes.items()}))
