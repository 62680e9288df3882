"""Events of a run as lines to read: what the agent said and did, what the checks found, what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from ralph.domain.agent import events as agent
from ralph.domain.loop import events as loop
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.text.safe_text import clean
from ralph.domain.views.decisions import Tone, describe_decision
from ralph.domain.views.pull_request import News, NewsKind, PullRequestView, news_of, view_of
from ralph.domain.views.runs import FeedEvent, outcome_words
from ralph.interfaces.tui.lines import LONGEST_LINE, OUTPUT_LINES, Kind, Line, bounded
from ralph.interfaces.tui.marks import TODO_MARKS, TONE_MARKS, clock_time
from ralph.operations.watch import restore

TEXT_LINES = 400
"""Lines of one text shown; the session's log has the rest."""
MOST_LINES_AT_ONCE = 1_000
MOST_OPEN_TOOLS = 1_024

_CHECK_LOOKS = {
    Verdict.PASSED: ("✔", "good"),
    Verdict.FAILED: ("✘", "bad"),
    Verdict.ERRORED: ("!", "warn"),
    Verdict.SKIPPED: ("-", "dim"),
}
_TONE_STYLES = {
    Tone.GOOD: "good",
    Tone.OPEN: "claim",
    Tone.QUIET: "dim",
    Tone.WARNING: "warn",
    Tone.BAD: "bad",
}
_TODO_STYLES = {
    agent.TodoStatus.DONE: "good",
    agent.TodoStatus.ACTIVE: "claim",
    agent.TodoStatus.PENDING: "dim",
}


class StreamText:
    """Takes events in order. What it remembers between them is bounded."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._tools: dict[str, str] = {}
        self._line_is_open = False
        self._last_error = ""
        self._claims: tuple[str, ...] = ()
        self._pull: PullRequestView | None = None  # as it was told last
        self._pulls: dict[int, PullRequestView] = {}
        self._pause = ""  # the reason of the newest one
        self.todo: tuple[agent.TodoItem, ...] = ()
        self.tool = ""  # the call or the check under way, in words

    def take(self, event: FeedEvent) -> list[Line]:
        restored = restore(event.data)
        if restored is None:  # written by another version of ralph
            return self._whole(
                [_line("dim", f"· {bounded(event.kind, 80)}: unknown to this version of ralph")]
            )
        if not isinstance(restored, loop.AgentActed):
            return self._whole(self._loop_lines(restored, event.at))
        lines: list[Line] = []
        for number, acted in enumerate(restored.events, 1):
            if isinstance(acted, agent.Text) and not acted.parent:
                lines += self._words(acted)
            else:
                lines += self._whole(list(self._agent_lines(acted)))
            if len(lines) > MOST_LINES_AT_ONCE:
                more = plural(len(restored.events) - number, "more event")
                return lines + self._whole([_line("dim", f"… {more} of this moment: see the log")])
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
                yield _line("dim", f"session started {bounded(event.model, 80)}".rstrip())
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

    def _loop_lines(self, event: loop.LoopEvent, at: float) -> list[Line]:
        if isinstance(event, loop.PullRequestSeen):
            before, self._pull = self._pulls.get(event.number), view_of(event)
            self._pulls[event.number] = self._pull
            return [_pull_line(news) for news in news_of(before, self._pull)]
        if isinstance(event, loop.PauseBegan) and self._pull is not None and self._pull.is_waiting:
            earlier, self._pause = self._pause, event.reason
            if event.reason in (earlier, self._pull.reason):  # it looks again and again: told once
                return []
        if isinstance(event, loop.IterationStarted):
            self._tools.clear()
            self.todo, self.tool = (), ""
            self._claims = ()
        elif isinstance(event, loop.ClaimsSought):
            self._claims = event.found
        elif isinstance(event, loop.CheckStarted):  # a line follows when it has ended
            self.tool = f"checking: {bounded(check_words(event.name), 200)}"
        elif isinstance(event, loop.AgentEnded | loop.CheckEnded):
            self.tool = ""
        return list(_lines_of(event, at, self._zone, self._claims))


def _text_style(row: str) -> str:
    return "heading" if row.startswith("#") else "text"


def _block(kind: Kind, style: str, text: str, margin: str) -> Iterator[Line]:
    rows = clean(text[: LONGEST_LINE * 20]).strip("\n").split("\n")
    for row in rows[:40]:
        yield Line(kind, style, f"{margin}{row[:LONGEST_LINE]}", indent=len(margin))
    if len(rows) > 40:
        yield Line(kind, style, f"{margin}… {plural(len(rows) - 40, 'more line')}")


def _todo_lines(items: tuple[agent.TodoItem, ...]) -> Iterator[Line]:
    done = sum(item.status is agent.TodoStatus.DONE for item in items)
    yield Line(Kind.TOOLS, "heading", f"≡ to do: {done} of {len(items)}")
    for item in items[:50]:
        text = f"  {TODO_MARKS[item.status]} {bounded(item.text)}"
        yield Line(Kind.TOOLS, _TODO_STYLES[item.status], text, indent=4)


# --- the loop ---


def _lines_of(
    event: loop.LoopEvent, at: float, zone: tzinfo | None, claims: Sequence[str] = ()
) -> Iterator[Line]:
    """``claims`` are those found in the current iteration."""
    time = clock_time(at, zone)
    match event:
        case loop.RunStarted():
            yield _line("rule", f"run {bounded(event.run_id)} started · {time}")
            yield from (_warning(note) for note in event.notes)
        case loop.IterationStarted():
            yield _iteration_line(event, time)
        case loop.AgentStarted(purpose="iteration"):
            yield _line("dim", f"$ {bounded(event.command, 200)}", indent=2)
        case loop.AgentStarted():
            yield _line("dim", f"asks the agent for {bounded(event.purpose, 80)}")
        case loop.AgentEnded():
            yield from _session_lines(event)
        case loop.ProcessesEnded():
            yield _warning(f"ended leftover processes: {', '.join(event.left_behind)}")
        case loop.CheckEnded():
            yield from _check_lines(event.result)
        case loop.ClaimsSought(found=found) if found:
            yield Line(Kind.CHECKS, "claim", f"⚑ claims {bounded(', '.join(found))}")
        case loop.ActionEnded():
            sign, style = ("✔", "good") if event.ok else ("✘", "bad")
            message = f": {bounded(event.message)}" if event.message else ""
            yield Line(Kind.CHECKS, style, f"{sign} {bounded(event.name, 200)}{message}", head=1, indent=2)
        case loop.IterationEnded():
            yield from _decision_lines(event, claims)
        case loop.PauseBegan():
            yield _line("warn", f"◔ waiting until {clock_time(event.until, zone)}: {bounded(event.reason)}")
        case loop.Warned():
            yield _line("dim", bounded(event.message)) if event.mild else _warning(event.message)
        case loop.Steered():
            yield _line("claim", f"➤ you: {bounded(event.text)}", indent=2)
        case loop.RunEnded():
            yield from _end_lines(event, time)
        case loop.RunPaused():
            yield _line("warn", f"⏸ paused · {time}")
        case loop.RunUnpaused():
            yield _line("warn", f"▶ continued · {time}")
        case loop.StopRequested():
            yield _line("warn", f"■ stopping {'now' if event.now else 'after this step'} · {time}")
        case _:
            pass


def _pull_line(news: News) -> Line:
    text, style = bounded(news.text), _TONE_STYLES[news.tone]
    match news.kind:
        case NewsKind.OPENED:
            return _line("rule", text)
        case NewsKind.STEP:
            return _line(style, f"{TONE_MARKS[news.tone]} {text}", indent=2)
        case NewsKind.CHECKS:
            return Line(Kind.CHECKS, style, f"  {TONE_MARKS[news.tone]} {text}", indent=4)
        case NewsKind.ADDRESS | NewsKind.REMARKS:
            return _line("dim", f"  {text}", indent=2)


def _line(style: str, text: str, indent: int = 0) -> Line:
    return Line(Kind.LOOP, style, text, indent=indent)


def _warning(text: str) -> Line:
    return _line("warn", f"! {bounded(text)}", indent=2)


def _iteration_line(event: loop.IterationStarted, time: str) -> Line:
    of = f" of {event.maximum}" if event.maximum else ""
    again = f" · attempt {event.attempt}" if event.attempt > 1 else ""
    role = f" · {bounded(event.role, 40)}" if event.role else ""
    what = f" · {bounded(event.assignment, 80)}" if event.assignment not in ("", "prompt") else ""
    return _line("rule", f"iteration {event.iteration}{of}{again}{role}{what} · {time}")


def _session_lines(event: loop.AgentEnded) -> Iterator[Line]:
    how = bounded(event.ending.replace("_", " "))
    code = f" {event.exit_code}" if event.exit_code is not None else ""
    figures = [f"session {how}{code} after {duration(event.seconds)}", plural(event.tools, "tool")]
    if event.tool_errors:
        figures.append(f"{event.tool_errors} failed")
    if event.spend.cost_usd is not None:
        figures.append(money(event.spend.cost_usd))
    if event.spend.usage.total:
        figures.append(f"{compact(event.spend.usage.total)} tokens")
    yield _line("dim", " · ".join(figures))
    if event.fault is not None:
        yield _line("bad", f"✘ {bounded(event.fault.reason)}", indent=2)
    if event.denials:
        yield _warning(f"denied permission to use: {', '.join(event.denials)}")


def _check_lines(result: CheckResult) -> Iterator[Line]:
    sign, style = _CHECK_LOOKS[result.verdict]
    name = bounded(check_words(result.name), 200)
    code = f", exit {result.exit_code}" if result.exit_code else ""
    text = f"{sign} {name} {result.verdict.value} ({duration(result.seconds)}{code})"
    yield Line(Kind.CHECKS, style, text, head=len(sign) + 1 + len(name), indent=2)
    if result.verdict is Verdict.PASSED:
        return
    if result.reason:
        yield Line(Kind.CHECKS, style, f"  {bounded(result.reason)}", indent=2)
    for row in result.last_lines[-OUTPUT_LINES:]:
        yield Line(Kind.CHECKS, "dim", f"  │ {bounded(row)}", indent=4)


def _decision_lines(event: loop.IterationEnded, claims: Sequence[str]) -> Iterator[Line]:
    cost = f" · {money(event.spend.cost_usd)}" if event.spend.cost_usd is not None else ""
    wording = describe_decision(event.decision, claims)
    words = bounded(wording.words, 80)
    text = f"→ {words}: {bounded(event.reason)} · {duration(event.seconds)}{cost}"
    yield Line(Kind.LOOP, _TONE_STYLES[wording.tone], text, head=len(words) + 2, indent=2)
    if event.claimed and not event.proven:
        yield Line(Kind.CHECKS, "warn", "  the claim was denied by the checks")
    yield _line("text", "")


def _end_lines(event: loop.RunEnded, time: str) -> Iterator[Line]:
    outcome = event.outcome.value
    yield _line("rule", f"run {outcome_words(outcome)} · {time}")
    yield _line({"completed": "good", "failed": "bad"}.get(outcome, "warn"), bounded(event.reason))
    yield from (_warning(f"concern: {concern}") for concern in event.concerns)
    if event.hint:
        yield _line("dim", bounded(event.hint))
