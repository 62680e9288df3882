"""The agent's stream, for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import Any

from ralph.domain.agent.events import (
    AgentEvent,
    BackgroundChanged,
    ErrorReported,
    LimitReported,
    Noise,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    TodoChanged,
    TodoStatus,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
)
from ralph.domain.text.figures import plural, totals
from ralph.domain.text.safe_text import clean, clean_line, is_harmless
from ralph.interfaces.cli.terminal import Look, Timestamps, colors_of, marks_of

MAX_OPEN_TOOLS = 1024
"""Of more calls that never end, the oldest are forgotten."""

MAX_NOISE_CHARS = 200
"""Shown of a line that is not an event: it may be megabytes long."""

SESSION_ENDED = "Session ended"

_INDENT = "  "


class AgentView:
    """Renders batches of events, in bounded memory. ``line_is_open``: the last character was not a newline;
    ``last_error``: of this session, as it was shown."""

    def __init__(self, look: Look, *, verbose: bool = False, zone: tzinfo | None = None) -> None:
        self._look = look
        self._verbose = verbose
        self._marks = marks = marks_of(look)
        self._colors = colors = colors_of(look)
        self._timestamps = Timestamps(zone)
        self._tool_names: dict[str, str] = {}
        self._at = 0.0
        self._started_at: float | None = None
        self._wrote = False
        self._spoke = False
        self._running = ""  # beside the turns
        self.last_error = ""
        self.line_is_open = False
        self.turn_ended = False
        self.tools = 0
        self.errors = 0
        self.noise = 0
        # The constant parts of the most frequent lines.
        self._call = f"{colors.cyan}{marks.tool}{colors.off} {colors.bold}"
        self._passed = f"{colors.green}{marks.ok} Result{colors.off} {marks.left} "
        self._failed = f"{colors.red}{marks.error} Result{colors.off} {marks.left} "
        self._branch = f"{_INDENT}{colors.dim}{marks.branch}  "
        self._below = "\n" + " " * (len(_INDENT) + len(marks.branch) + 2)
        self._max_lines = sys.maxsize if look.max_lines is None else look.max_lines
        self._max_chars = sys.maxsize if look.max_chars is None else look.max_chars
        self._renderers: dict[type, Callable[[Any], str]] = {
            SessionStarted: self._session,
            Text: self._foreign_text,
            Reasoning: self._reasoning,
            ToolStarted: self._tool_started,
            ToolEnded: self._tool_ended,
            TodoChanged: self._todo,
            TurnEnded: self._turn,
            LimitReported: self._limit,
            ErrorReported: self._error,
            BackgroundChanged: self._background,
            Notice: self._notice,
            Unknown: self._unknown,
            Noise: self._noise,
        }

    def begin(self, at: float) -> None:
        """A new session begins."""
        self._tool_names.clear()
        self._started_at = at
        self._wrote = self._spoke = self.turn_ended = False
        self.last_error = self._running = ""
        self.tools = self.errors = self.noise = 0

    def render(self, events: Iterable[AgentEvent], at: float = 0.0) -> str:
        """One string for the whole batch."""
        self._at = at
        inside_line = is_open = self.line_is_open
        parts: list[str] = []
        add = parts.append
        renderers = self._renderers
        for event in events:
            if type(event) is Text and not event.parent:
                text = event.text
                if not is_harmless(text):
                    text = clean(text)
                if text:
                    add(text)
                    is_open = text[-1] != "\n"
                    self._wrote = self._spoke = True
                if is_open and event.final:
                    add("\n")
                    is_open = False
                continue
            renderer = renderers.get(type(event))
            if renderer is None:  # an event of a newer parser
                continue
            lines = renderer(event)
            if lines:
                if is_open:
                    add("\n")
                    is_open = False
                add(lines)
                self._wrote = True
        self.line_is_open = is_open
        rendered = "".join(parts)
        if rendered and self._look.timestamps:
            return self._timestamps.stamp(rendered, at, inside_line=inside_line)
        return rendered

    def count(self, events: Iterable[AgentEvent]) -> None:
        """Count without rendering, when the stream is not shown."""
        for event in events:
            if isinstance(event, ToolStarted):
                self.tools += 1
            elif isinstance(event, ToolEnded):
                self.errors += event.is_error
            elif isinstance(event, Noise):
                self.noise += 1

    def close_line(self) -> str:
        """The missing newline, if any."""
        if not self.line_is_open:
            return ""
        self.line_is_open = False
        return "\n"

    # Each renderer returns whole lines, or nothing.

    def _session(self, event: SessionStarted) -> str:
        about = ", ".join(filter(None, (event.model, event.version)))
        words = ["Session", event.session_id, f"({about})" if about else ""]
        return self._dimmed(clean_line(" ".join(word for word in words if word)))

    def _foreign_text(self, event: Text) -> str:
        return self._indented(self._dimmed(clean(event.text)))

    def _reasoning(self, event: Reasoning) -> str:
        lines = self._dimmed(clean(event.text))
        return self._indented(lines) if event.parent else lines

    def _tool_started(self, event: ToolStarted) -> str:
        self.tools += 1
        name, summary = event.name, event.summary
        # Nearly always both are printable, which is what is tested first: sessions call tools by the ten thousand.
        if not name.isprintable():
            name = clean_line(name)
        if not summary.isprintable():
            summary = clean_line(summary)
        names = self._tool_names
        names[event.id] = name
        if len(names) > MAX_OPEN_TOOLS:
            del names[next(iter(names))]
        line = f"{self._call}{name}{self._colors.off}({summary})\n"
        return self._indented(line) if event.parent else line

    def _tool_ended(self, event: ToolEnded) -> str:
        name = self._tool_names.pop(event.id, "") or clean_line(event.name) or "tool"
        if event.is_error:
            self.errors += 1
        output = event.output
        lines, chars = event.lines, event.chars
        if output and not (lines and chars):
            lines, chars = output.count("\n") + (output[-1] != "\n"), len(output)
        if chars > 1 and lines > 1:
            size = f"{lines} lines, {chars} chars"
        else:
            size = f"{plural(lines, 'line')}, {plural(chars, 'char')}" if chars else "no output"
        head = f"{self._failed if event.is_error else self._passed}{name} ({size})\n"
        rows = self._rows(output, lines, chars) if output else None
        rendered = head if rows is None else f"{head}{self._branch}{rows}{self._colors.off}\n"
        return self._indented(rendered) if event.parent else rendered

    def _rows(self, output: str, lines: int, chars: int) -> str | None:
        """The beginning of a tool's output, and how much more there is; None if nothing is to be shown."""
        max_lines, max_chars = self._max_lines, self._max_chars
        # Nearly always: short and harmless.
        if len(output) >= chars and chars <= max_chars and lines <= max_lines and is_harmless(output):
            return output.rstrip("\n").replace("\n", self._below)
        if max_lines == 0 or max_chars == 0:
            return None
        if len(output) >= chars:  # all of it is here
            output = output.rstrip("\n")
            lines, chars = output.count("\n") + 1, len(output)
        shown = output[:max_chars]
        was_cut = len(shown) < len(output)
        visible = clean(shown).rstrip("\n")
        count = visible.count("\n") + 1
        rows = visible.split("\n", max_lines)
        if count > max_lines:
            hidden = max(lines, count) - max_lines
            del rows[max_lines:]
        else:
            hidden = lines - count
            if was_cut:
                rows[-1] += self._marks.more
        if hidden > 0:
            rows.append(f"{self._marks.more} +{plural(hidden, 'line')}")
        elif was_cut or len(shown) < chars:
            rows.append(f"{self._marks.more} +{plural(chars - len(shown), 'char')}")
        return self._below.join(rows)

    def _todo(self, event: TodoChanged) -> str:
        marks, colors = self._marks, self._colors
        lines = [f"{self._gap()}{colors.bold}{marks.todo} Todo List{colors.off}"]
        done = 0
        for item in event.items:
            text = clean_line(item.text)
            match item.status:
                case TodoStatus.DONE:
                    done += 1
                    lines.append(f"{_INDENT}{colors.green}{marks.todo_done}{colors.off} {text}")
                case TodoStatus.ACTIVE:
                    active = f"{marks.todo_active} {text} {marks.left} ACTIVE"
                    lines.append(f"{_INDENT}{colors.yellow}{active}{colors.off}")
                case TodoStatus.PENDING:
                    lines.append(f"{_INDENT}{marks.todo_pending} {text}")
        total = len(event.items)
        share = 100 * done // total if total else 0
        progress = f"{marks.progress}Progress: {done}/{total} ({share}%)"
        lines.append(f"{_INDENT}{colors.dim}{progress}{colors.off}\n")
        return "\n".join(lines)

    def _turn(self, event: TurnEnded) -> str:
        marks, colors = self._marks, self._colors
        self.turn_ended = True
        seconds: float | None = event.seconds
        if not seconds:
            seconds = None if self._started_at is None else self._at - self._started_at
        figures = totals(
            cost_usd=event.cost_usd, usage=event.usage, tools=self.tools, errors=self.errors, seconds=seconds
        )
        # Some answers come only here; otherwise they repeat what was said.
        words = "" if self._spoke else self._block(clean(event.text))
        if words:
            self._wrote = True
        denied = ""
        if event.denials:
            names = clean_line(", ".join(dict.fromkeys(event.denials)))
            denied = f"{colors.yellow}{marks.warning} Not permitted: {names}{colors.off}\n"
        if event.error:
            # Do not repeat an error that was just reported.
            why = "" if event.error == self.last_error else f": {clean_line(event.error)}"
            head = f"{colors.red}{marks.error} Failed{why}{colors.off}"
        else:
            # Not a word on success: what it claims is yet to be judged.
            head = f"{marks.progress}{SESSION_ENDED}"
        waits = self._dimmed(f"waiting for background work: {self._running}") if self._running else ""
        return f"{words}{denied}{self._gap()}{head} ({figures})\n{waits}"

    def _limit(self, event: LimitReported) -> str:
        if not event.rejected and not self._verbose:
            return ""
        state = "Usage limit reached" if event.rejected else "Usage limit reported"
        name = f" ({clean_line(event.limit)})" if event.limit else ""
        resets = ""
        if event.resets_at is not None:
            resets = f", resets at {self._timestamps.clock_time(event.resets_at, beside=self._at)}"
        if not event.rejected:
            return self._dimmed(f"{state}{name}{resets}")
        return f"{self._colors.yellow}{self._marks.warning} {state}{name}{resets}{self._colors.off}\n"

    def _error(self, event: ErrorReported) -> str:
        color, mark = self._colors.yellow, self._marks.warning
        if event.final:
            color, mark = self._colors.red, self._marks.error
        self.last_error = event.message
        details = [f"status {event.status}" if event.status is not None else "", event.code]
        about = ", ".join(detail for detail in details if detail)
        message = clean_line(f"Error: {event.message or 'unknown'}" + (f" ({about})" if about else ""))
        return f"{color}{mark} {message}{self._colors.off}\n"

    def _background(self, event: BackgroundChanged) -> str:
        self._running = clean_line(", ".join(event.tasks))
        return ""  # notices tell of each

    def _notice(self, event: Notice) -> str:
        return self._dimmed(clean(event.text))

    def _unknown(self, event: Unknown) -> str:
        return self._dimmed(f"unknown event: {clean_line(event.type)}") if self._verbose else ""

    def _noise(self, event: Noise) -> str:
        self.noise += 1
        if not event.torn and not self._verbose:
            return ""
        text = clean_line(event.text[:MAX_NOISE_CHARS])
        if len(event.text) > MAX_NOISE_CHARS:
            text += self._marks.more
        if event.torn:
            colors = self._colors
            return f"{colors.yellow}{self._marks.warning} A line was cut off: {text}{colors.off}\n"
        return self._dimmed(text)

    def _gap(self) -> str:
        return "\n" if self._wrote else ""

    def _dimmed(self, text: str) -> str:
        text = text.rstrip("\n")
        return f"{self._colors.dim}{text}{self._colors.off}\n" if text else ""

    @staticmethod
    def _block(text: str) -> str:
        return text if not text or text.endswith("\n") else text + "\n"

    @staticmethod
    def _indented(lines: str) -> str:
        """Indent the lines of a sub-agent below those of its caller."""
        return _INDENT + lines[:-1].replace("\n", "\n" + _INDENT) + "\n" if lines else ""
