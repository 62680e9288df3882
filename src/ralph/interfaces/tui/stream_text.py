"""Events of a run as lines to read: what the agent said and did, what the checks found, what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from ralph.domain.agent import events as agent
from ralph.domain.loop.events import AgentActed, AgentEnded, ClaimsSought, IterationStarted, LoopEvent
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean
from ralph.domain.views.feed import FeedEvent
from ralph.interfaces.tui.lines import LONGEST_LINE, OUTPUT_LINES, Kind, Line, bounded
from ralph.interfaces.tui.loop_text import loop_lines
from ralph.interfaces.tui.marks import TODO_MARKS, clock_time
from ralph.operations.watch import restore

TEXT_LINES = 400
"""Lines of one text shown; the session's log has the rest."""
MOST_LINES_AT_ONCE = 1_000
MOST_OPEN_TOOLS = 1_024


class StreamText:
    """Takes events in order. What it remembers between them is bounded."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._tools: dict[str, str] = {}
        self._line_is_open = False
        self._last_error = ""
        self._claims: tuple[str, ...] = ()
        self.todo: tuple[agent.TodoItem, ...] = ()
        self.tool = ""  # the call under way, in words

    def take(self, event: FeedEvent) -> list[Line]:
        restored = restore(event.data)
        if restored is None:  # written by another version of ralph
            return self._whole([_dim(f"· {bounded(event.kind, 80)}: unknown to this version of ralph")])
        if not isinstance(restored, AgentActed):
            return self._whole(self._loop_lines(restored, event.at))
        lines: list[Line] = []
        for number, acted in enumerate(restored.events, 1):
            if isinstance(acted, agent.Text) and not acted.parent:
                lines += self._words(acted)
            else:
                lines += self._whole(list(self._agent_lines(acted)))
            if len(lines) > MOST_LINES_AT_ONCE:
                more = plural(len(restored.events) - number, "more event")
                return lines + self._whole([_dim(f"… {more} of this moment: see the log")])
        return lines

    def _whole(self, lines: list[Line]) -> list[Line]:
        """After whole lines, the next word begins a new one."""
        if lines:
            self._line_is_open = False
        return lines

    # --- the agent ---

    def _words(self, event: agent.Text) -> list[Line]:
        """An agent may send a text word by word: continue the line."""
        text = clean(event.text[: LONGEST_LINE * TEXT_LINES])
        if not text.strip() and not self._line_is_open:
            return []
        rows = text.split("\n")
        if len(rows) > TEXT_LINES:
            rows[TEXT_LINES:] = [f"… {plural(len(rows) - TEXT_LINES, 'more line')}"]
        first = Line(Kind.WORDS, "text", rows[0][:LONGEST_LINE], continues=self._line_is_open)
        lines = [first, *(Line(Kind.WORDS, _text_style(row), row[:LONGEST_LINE]) for row in rows[1:])]
        if not self._line_is_open:
            lines[0] = first._replace(style=_text_style(rows[0]))
        self._line_is_open = not event.final
        if event.final and len(lines) > 1 and not lines[-1].text:
            lines.pop()
        return lines

    def _agent_lines(self, event: agent.AgentEvent) -> Iterator[Line]:
        match event:
            case agent.ToolStarted():
                name, summary = bounded(event.name, 80), bounded(event.summary)
                self._tools[event.id] = name
                if len(self._tools) > MOST_OPEN_TOOLS:
                    del self._tools[next(iter(self._tools))]
                self.tool = f"{name} {summary}".strip()
                sign = "  ◦ " if event.parent else "● "
                text = f"{sign}{name}  {summary}" if summary else f"{sign}{name}"
                yield Line(Kind.TOOLS, "tool", text, head=len(sign) + len(name), indent=4)
            case agent.ToolEnded():
                yield from self._tool_ended(event)
            case agent.TodoChanged():
                self.todo = event.items
                yield from _todo_lines(event.items)
            case agent.Text():
                yield from _block(Kind.WORDS, "dim", event.text, "    ")
            case agent.Reasoning():
                yield from _block(Kind.WORDS, "thought", event.text, "    " if event.parent else "  ")
            case agent.SessionStarted():
                self._last_error = ""
                yield _dim(f"session started {bounded(event.model, 80)}".rstrip())
            case agent.TurnEnded() if event.error and event.error != self._last_error:
                yield Line(Kind.WORDS, "bad", f"✘ {bounded(event.error)}", indent=2)
            case agent.ErrorReported():
                self._last_error = event.message
                status = f" ({event.status})" if event.status else ""
                text = f"✘ {bounded(event.message)}{status}"
                yield Line(Kind.WORDS, "bad" if event.final else "warn", text, indent=2)
            case agent.LimitReported(rejected=True):
                until = f" until {clock_time(event.resets_at, self._zone)}" if event.resets_at else ""
                yield Line(Kind.LOOP, "warn", f"◔ limit reached: {bounded(event.limit, 80)}{until}")
            case agent.Notice() | agent.Noise():
                yield Line(Kind.WORDS, "dim", f"· {bounded(event.text)}", indent=2)
            case _:
                pass

    def _tool_ended(self, event: agent.ToolEnded) -> Iterator[Line]:
        name = self._tools.pop(event.id, "") or bounded(event.name, 80)
        self.tool = ""
        margin = "    " if event.parent else "  "
        rows = clean(event.output[: LONGEST_LINE * OUTPUT_LINES]).rstrip("\n").split("\n")
        shown = rows[:OUTPUT_LINES] if rows != [""] else []
        style = "bad" if event.is_error else "dim"
        if not shown:
            size = f"{plural(event.lines, 'line')}" if event.lines else "no output"
            yield Line(Kind.TOOLS, style, f"{margin}└ {name} {'failed, ' if event.is_error else ''}{size}")
            return
        for number, row in enumerate(shown):
            sign = "└ " if number == 0 else "  "
            yield Line(Kind.TOOLS, style, f"{margin}{sign}{row[:LONGEST_LINE]}", indent=len(margin) + 2)
        more = max(event.lines, len(rows)) - len(shown)
        if more > 0:
            yield Line(Kind.TOOLS, "dim", f"{margin}  … {plural(more, 'more line')}")

    # --- the loop ---

    def _loop_lines(self, event: LoopEvent, at: float) -> list[Line]:
        if isinstance(event, IterationStarted):
            self._tools.clear()
            self.todo, self.tool = (), ""
            self._claims = ()
        elif isinstance(event, ClaimsSought):
            self._claims = event.found
        elif isinstance(event, AgentEnded):
            self.tool = ""
        return list(loop_lines(event, at, self._zone, self._claims))


def _dim(text: str) -> Line:
    return Line(Kind.LOOP, "dim", text)


def _text_style(row: str) -> str:
    return "heading" if row.startswith("#") else "text"


def _block(kind: Kind, style: str, text: str, margin: str) -> Iterator[Line]:
    rows = clean(text[: LONGEST_LINE * 20]).strip("\n").split("\n")
    for row in rows[:40]:
        yield Line(kind, style, f"{margin}{row[:LONGEST_LINE]}", indent=len(margin))
    if len(rows) > 40:
        yield Line(kind, style, f"{margin}… {plural(len(rows) - 40, 'more line')}")


_TODO_STYLES = {
    agent.TodoStatus.DONE: "good",
    agent.TodoStatus.ACTIVE: "claim",
    agent.TodoStatus.PENDING: "dim",
}


def _todo_lines(items: tuple[agent.TodoItem, ...]) -> Iterator[Line]:
    done = sum(item.status is agent.TodoStatus.DONE for item in items)
    yield Line(Kind.TOOLS, "heading", f"≡ to do: {done} of {len(items)}")
    for item in items[:50]:
        text = f"  {TODO_MARKS[item.status]} {bounded(item.text)}"
        yield Line(Kind.TOOLS, _TODO_STYLES[item.status], text, indent=4)
