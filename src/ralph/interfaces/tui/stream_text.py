"""Events of a run as lines to read: what the agent said and did, what the checks found, what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Noise,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    TodoChanged,
    TodoItem,
    TodoStatus,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from ralph.domain.loop.events import AgentActed, AgentEnded, ClaimsSought, IterationStarted, LoopEvent
from ralph.domain.text.figures import plural
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.feed import FeedEvent
from ralph.interfaces.tui.loop_text import loop_lines
from ralph.interfaces.tui.marks import clock_time
from ralph.interfaces.tui.stream_line import LONGEST_LINE, OUTPUT_LINES, Kind, Line
from ralph.operations.watch import restore

TEXT_LINES = 400
"""Lines of one text shown; the session's log has the rest."""
MOST_LINES_AT_ONCE = 1_000
MOST_OPEN_TOOLS = 1_024


class StreamText:
    """Takes events in order. Remembers what it needs between them, in bounded memory."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._tools: dict[str, str] = {}
        self._line_is_open = False
        self._error_told = ""
        self._claims: tuple[str, ...] = ()
        self.todo: tuple[TodoItem, ...] = ()
        self.tool = ""  # the call under way, in words

    def take(self, event: FeedEvent) -> list[Line]:
        restored = restore(event.data)
        if restored is None:  # of another version of ralph
            return self._broken(
                [Line(Kind.LOOP, "dim", f"· {clean_line(event.kind[:80])}: unknown to this version of ralph")]
            )
        if isinstance(restored, AgentActed):
            lines: list[Line] = []
            for number, acted in enumerate(restored.events):
                lines += self._acted(acted)
                if len(lines) > MOST_LINES_AT_ONCE:
                    left = len(restored.events) - number - 1
                    lines += self._broken(
                        [
                            Line(
                                Kind.LOOP,
                                "dim",
                                f"… {plural(left, 'more event')} of this moment: see the log",
                            )
                        ]
                    )
                    break
            return lines
        return self._broken(self._happened(restored, event.at))

    def _broken(self, lines: list[Line]) -> list[Line]:
        """After whole lines, the next word begins a new one."""
        if lines:
            self._line_is_open = False
        return lines

    # --- the agent ---

    def _acted(self, event: AgentEvent) -> list[Line]:
        if isinstance(event, Text) and not event.parent:
            return self._words(event)
        return self._broken(list(self._did(event)))

    def _words(self, event: Text) -> list[Line]:
        """Pieces of one block may come word by word: the line continues."""
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

    def _did(self, event: AgentEvent) -> Iterator[Line]:
        match event:
            case ToolStarted():
                name, summary = clean_line(event.name[:80]), clean_line(event.summary[:LONGEST_LINE])
                self._tools[event.id] = name
                if len(self._tools) > MOST_OPEN_TOOLS:
                    del self._tools[next(iter(self._tools))]
                self.tool = f"{name} {summary}".strip()
                sign = "  ◦ " if event.parent else "● "
                text = f"{sign}{name}  {summary}" if summary else f"{sign}{name}"
                yield Line(Kind.TOOLS, "tool", text, head=len(sign) + len(name), indent=4)
            case ToolEnded():
                yield from self._tool_ended(event)
            case TodoChanged():
                self.todo = event.items
                yield from _todo_lines(event.items)
            case Text():
                yield from _block(Kind.WORDS, "dim", event.text, "    ")
            case Reasoning():
                yield from _block(Kind.WORDS, "thought", event.text, "    " if event.parent else "  ")
            case SessionStarted():
                self._error_told = ""
                yield Line(Kind.LOOP, "dim", f"session started {clean_line(event.model[:80])}".rstrip())
            case TurnEnded() if event.error and event.error != self._error_told:
                yield Line(Kind.WORDS, "bad", f"✘ {clean_line(event.error[:LONGEST_LINE])}", indent=2)
            case ErrorReported():
                self._error_told = event.message
                status = f" ({event.status})" if event.status else ""
                text = f"✘ {clean_line(event.message[:LONGEST_LINE])}{status}"
                yield Line(Kind.WORDS, "bad" if event.final else "warn", text, indent=2)
            case LimitReported(rejected=True):
                until = f" until {clock_time(event.resets_at, self._zone)}" if event.resets_at else ""
                yield Line(Kind.LOOP, "warn", f"◔ limit reached: {clean_line(event.limit[:80])}{until}")
            case Notice() | Noise():
                yield Line(Kind.WORDS, "dim", f"· {clean_line(event.text[:LONGEST_LINE])}", indent=2)
            case _:
                pass

    def _tool_ended(self, event: ToolEnded) -> Iterator[Line]:
        name = self._tools.pop(event.id, "") or clean_line(event.name[:80])
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

    def _happened(self, event: LoopEvent, at: float) -> list[Line]:
        if isinstance(event, IterationStarted):
            self._tools.clear()
            self.todo, self.tool = (), ""
            self._claims = ()
        elif isinstance(event, ClaimsSought):
            self._claims = event.found
        elif isinstance(event, AgentEnded):
            self.tool = ""
        return list(loop_lines(event, at, self._zone, self._claims))


def _text_style(row: str) -> str:
    return "heading" if row.startswith("#") else "text"


def _block(kind: Kind, style: str, text: str, margin: str) -> Iterator[Line]:
    rows = clean(text[: LONGEST_LINE * 20]).strip("\n").split("\n")
    for row in rows[:40]:
        yield Line(kind, style, f"{margin}{row[:LONGEST_LINE]}", indent=len(margin))
    if len(rows) > 40:
        yield Line(kind, style, f"{margin}… {plural(len(rows) - 40, 'more line')}")


_TODO_MARKS = {TodoStatus.DONE: "☑", TodoStatus.ACTIVE: "▸", TodoStatus.PENDING: "☐"}
_TODO_STYLES = {TodoStatus.DONE: "good", TodoStatus.ACTIVE: "claim", TodoStatus.PENDING: "dim"}


def _todo_lines(items: tuple[TodoItem, ...]) -> Iterator[Line]:
    done = sum(item.status is TodoStatus.DONE for item in items)
    yield Line(Kind.TOOLS, "heading", f"≡ to do: {done} of {len(items)}")
    for item in items[:50]:
        mark = _TODO_MARKS[item.status]
        yield Line(
            Kind.TOOLS,
            _TODO_STYLES[item.status],
            f"  {mark} {clean_line(item.text[:LONGEST_LINE])}",
            indent=4,
        )
