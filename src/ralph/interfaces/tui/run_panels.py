"""What the screen says about a run: the header above, the column beside a wide stream, and the About view."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from pathlib import PurePath

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from ralph.domain.agent.events import TodoStatus
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.evidence import Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import compact, duration, money, plural, whole_duration
from ralph.domain.views.decisions import describe_iteration
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.pull_request import PullRequestView, describe_check
from ralph.domain.views.quota import quota_line
from ralph.domain.views.runs import RunState, RunView
from ralph.interfaces.tui.follower import RunLook
from ralph.interfaces.tui.lines import cut, wrap
from ralph.interfaces.tui.marks import (
    DIM,
    STATE_MARKS,
    TODO_MARKS,
    TONE_MARKS,
    TONE_STYLES,
    bar,
    clock_time,
    dim,
    field,
    line,
    listed,
    reason_line,
    sparkline,
    title,
    verdict_mark,
)

GAUGE = 8
WIDE = 100
"""Columns from which on there is room for a gauge beside each figure, and for what is left of a subscription."""
MOST_TODO = 12
MOST_CHECKS = 8
MOST_CHECKS_OF_PULL = 12
MOST_CHECKS_BELOW = 200
"""In the About view, which scrolls."""
MOST_NOTES = 4
_TODO_STYLES = {
    TodoStatus.DONE: "$text-success",
    TodoStatus.ACTIVE: "bold $text-accent",
    TodoStatus.PENDING: DIM,
}
Piece = Content | str | tuple[str, str]


# --- the header ---


class RunHeader(Static):
    """Redrawn with every look, and every second for the clocks in it."""

    def show(self, look: RunLook | None, *, now: float, problem: str, empty: str) -> None:
        if problem:
            said = wrap(f" ! {line(problem)}", self.size.width - 1, indent=3)
            self.update(Content.styled("\n".join(said[:3]), "bold $text-error"))
        elif look is None or look.run is None:
            self.update(dim(f" {empty}"))
        else:
            is_wide = self.size.width >= WIDE
            rows = (
                _who(look.run),
                _how_far(look.run, look.budget, now, gauges=is_wide),
                _what_now(look, look.run, now),
            )
            self.update(Content("\n").join(rows))


def _who(run: RunView) -> Content:
    mark, style = STATE_MARKS[run.state]
    return Content.assemble(
        (f" {mark} {run.state.words} ", f"bold {style}"),
        (f" {line(run.id)}", "bold"),
        (f"  {line(what)}" if (what := f"{run.task} {run.title}".strip()) else "", "$text-accent"),
        (f"  {line(run.profile)} · {line(run.agent_words)} · {line(PurePath(run.root).name)}", DIM),
    )


def _how_far(run: RunView, budget: Budget, now: float, *, gauges: bool) -> Content:
    pieces: list[Piece] = [" "]
    of = f"/{run.maximum}" if run.maximum else ""
    pieces += [("iteration ", DIM), (f"{run.iteration}{of}", "bold")]
    if run.maximum:
        pieces += _gauge(run.iteration / run.maximum, "$text-primary")
    pieces += _spent(run, budget, gauges=gauges)
    seconds = (run.ended_at or (now if run.live else run.active_at)) - run.started_at
    pieces += ["  ", whole_duration(max(0.0, seconds))]
    if budget.seconds:
        pieces += [(f" of {whole_duration(budget.seconds)}", DIM)]
    if gauges:
        pieces += [(f"  {words}", DIM) for words in _quota(run, now)]
    return Content.assemble(*pieces)


def _quota(run: RunView, now: float) -> list[str]:
    """What is left of the agents' subscriptions, as far as they said so."""
    return [line(words) for each in run.quota if (words := quota_line(each, now))]


def _spent(run: RunView, budget: Budget, *, gauges: bool) -> list[Piece]:
    pieces: list[Piece] = ["  "]
    if run.cost_usd is not None:
        pieces.append((("≥" if run.cost_is_partial else "") + money(run.cost_usd), "bold"))
        if budget.cost_usd:
            pieces.append((f" of {money(budget.cost_usd)}", DIM))
            pieces += _gauge(run.cost_usd / budget.cost_usd) if gauges else ()
    if run.tokens or budget.tokens:  # a plain command reports none
        pieces += ["  " if run.cost_usd is not None else "", f"{compact(run.tokens)} tokens"]
        if budget.tokens:
            pieces.append((f" of {compact(budget.tokens)}", DIM))
            pieces += _gauge(run.tokens / budget.tokens) if gauges else ()
    return pieces


def _gauge(share: float, style: str = "") -> list[Piece]:
    """Green while there is room, then yellow, red at the end."""
    filled, empty = bar(share, GAUGE)
    style = style or ("$text-success" if share < 0.7 else "$text-warning" if share < 0.95 else "$text-error")
    return [" ", (filled, style), (empty, "$foreground 35%")]


def _what_now(look: RunLook, run: RunView, now: float) -> Content:
    pull = look.pull_requests[-1] if look.pull_requests else None
    if pull is not None and run.state is RunState.WAITING and pull.is_waiting and run.reason == pull.reason:
        style = TONE_STYLES[pull.wording.tone]
        return Content.styled(f" {TONE_MARKS[pull.wording.tone]} {line(pull.summary())}", f"bold {style}")
    if run.live and run.waits_until is not None and run.state is RunState.WAITING:
        left = whole_duration(max(0.0, run.waits_until - now))
        return Content.assemble((f" ◔ continues in {left}: ", "bold $text-warning"), reason_line(run))
    if run.live and look.iterations and run.state is RunState.RUNNING:
        return _session(look, now)
    if not run.live or run.state is RunState.PAUSED:
        why = "Paused: press u to continue" if run.state is RunState.PAUSED else reason_line(run)
        return Content.styled(f" {why}", "" if run.state is RunState.COMPLETED else "$text-warning")
    return Content("")


def _session(look: RunLook, now: float) -> Content:
    last = look.iterations[-1]
    if last.decision:
        return dim(f" → {line(describe_iteration(last).words)}: {line(last.reason)}")
    doing = line(look.tool) or (f"{len(last.checks)} checks done" if last.ending else "the agent is working")
    role = f"{line(last.role)}{_of_its_limit(last)} · " if last.role else ""
    what = f"{line(last.assignment)} · " if last.assignment not in ("", "prompt") else ""
    since = whole_duration(max(0.0, now - last.started_at))
    return Content.assemble((f" {since} ", "bold $text-primary"), (f"{role}{what}", "$text-accent"), doing)


# --- beside the stream ---


class RunPanel(Static):
    """The column beside a wide stream."""

    def show(self, look: RunLook | None, zone: tzinfo | None) -> None:
        if look is None or look.run is None:
            self.update("")
            return
        width = max(16, self.size.width - 2)
        self.update(Content("\n").join(_sections(look, width, zone)))


def _sections(look: RunLook, width: int, zone: tzinfo | None) -> Iterator[Content]:
    last = look.iterations[-1] if look.iterations else None
    yield title("Loop")
    yield from _loop(look, last)
    for pull in look.pull_requests:
        yield from _pull_request(pull, MOST_CHECKS_OF_PULL // len(look.pull_requests), width)
    if checked := next((each for each in reversed(look.iterations) if each.checks), None):
        yield title(f"Checks of iteration {checked.iteration}")
        yield from _checks(checked, look, width)
    if look.todo:
        yield title("The agent's to-do list")
        for item in look.todo[:MOST_TODO]:
            mark, style = TODO_MARKS[item.status], _TODO_STYLES[item.status]
            yield Content.styled(cut(f"{mark} {line(item.text)}", width), style)
        yield from _more(len(look.todo) - MOST_TODO)
    if len(look.iterations) > 1:
        yield from _charts(look, width)
    if look.notes:
        yield title("Notes")
        for note in look.notes[-MOST_NOTES:]:
            sign = "➤" if note.kind == "steered" else "!"
            yield Content.styled(
                cut(f"{sign} {clock_time(note.at, zone)} {line(note.text)}", width), "$text-warning"
            )


def _loop(look: RunLook, last: IterationView | None) -> Iterator[Content]:
    if last is None:
        yield dim("no iteration yet")
        return
    attempt = f", attempt {last.attempt}" if last.attempt > 1 else ""
    yield Content(f"iteration {last.iteration}{attempt}")
    if last.role:
        yield Content.assemble(("role ", DIM), line(last.role), (_of_its_limit(last), DIM))
    if last.assignment not in ("", "prompt"):
        yield Content.assemble(("on ", DIM), line(last.assignment))
    if last.promise:
        yield Content.assemble(("promises ", DIM), line(last.promise))
    state = "session under way" if not last.ending else "being checked" if not last.decision else ""
    if state and look.run is not None and look.run.live:
        yield Content.styled(state, "$text-success")
    denied = sum(each.denied for each in look.iterations)
    if denied:
        yield Content.styled(f"{plural(denied, 'claim')} denied by checks", "$text-warning")


def _pull_request(pull: PullRequestView, most: int, width: int) -> Iterator[Content]:
    """What ralph does about it, then a row for each check: what is not green first. The address is never cut."""
    yield title(f"Pull request {pull.name} · {line(pull.state_words)}")
    yield Content.styled(line(pull.title), "bold")
    if pull.url:
        yield Content.styled(line(pull.url), "underline" if pull.address else "")
    yield dim(line(f"{pull.branch} into {pull.base} · {pull.head[:12]}"))
    tone = pull.wording.tone
    said = " · ".join(filter(None, (pull.said, pull.counts)))
    yield Content.styled(f"{TONE_MARKS[tone]} {line(said)}", TONE_STYLES[tone])
    if pull.hint:
        yield Content(line(pull.hint))
    if pull.remarks:
        yield dim(line(pull.remarks))
    yield from _pull_checks(pull, most, width)


def _pull_checks(pull: PullRequestView, most: int, width: int) -> Iterator[Content]:
    shown = [(line(check.name), describe_check(check)) for check in pull.worst_first[:most]]
    room = min(max((cell_len(name) for name, _ in shown), default=0), max(8, width // 2))
    for name, wording in shown:
        fitted = cut(name, room)
        gap = " " * (room - cell_len(fitted) + 1)
        words = cut(line(wording.words), width - room - 3)
        style = TONE_STYLES[wording.tone]
        yield Content.assemble((f"{TONE_MARKS[wording.tone]} ", style), fitted, gap, (words, style))
    yield from _more(len(pull.checks) - most)


def _of_its_limit(each: IterationView) -> str:
    return f" {each.used} of {each.limit}" if each.limit else ""


def _checks(each: IterationView, look: RunLook, width: int) -> Iterator[Content]:
    rates = {rate.name: rate for rate in look.rates}
    ordered = sorted(each.checks, key=lambda check: check.verdict is Verdict.PASSED)
    for check in ordered[:MOST_CHECKS]:
        mark, style = verdict_mark(check.verdict.value)
        rate = rates.get(check.name)
        often = f" {rate.passed}/{rate.ran}" if rate is not None else ""
        yield Content.assemble(
            (f"{mark} ", style), cut(line(check_words(check.name)), width - 2 - len(often)), (often, DIM)
        )
    yield from _more(len(ordered) - MOST_CHECKS)


def _more(count: int) -> Iterator[Content]:
    if count > 0:
        yield dim(f"… {count} more")


def _charts(look: RunLook, width: int) -> Iterator[Content]:
    judged = [each for each in look.iterations[-width:] if each.decision]
    costs = [each.spend.cost_usd or 0.0 for each in judged]
    seconds = [each.seconds for each in judged]
    for name, values, style, words in (
        ("Cost", costs, "$text-warning", money),
        ("Time", seconds, "$text-primary", duration),
    ):
        if any(values):
            yield title(f"{name} per iteration")
            yield Content.styled(sparkline(values, width), style)
            yield dim(f"{words(sum(values) / len(values))} on average")


# --- About ---


class AboutRun(Static):
    """What to know before leaving a run alone: permissions, the sandbox, every command, its limits."""

    def show(self, look: RunLook | None, now: float) -> None:
        if look is None or look.run is None:
            self.update(dim("no runs here yet: 4 says how to begin"))
        else:
            width = max(16, self.size.width - 4)
            self.update(Content("\n").join(_about(look, look.run, now, width)))


def _about(look: RunLook, run: RunView, now: float, width: int) -> Iterator[Content]:
    yield Content.styled(line(run.id), "bold $text-accent")
    if what := f"{run.task} {run.title}".strip():
        yield field("asked for", line(what))
    yield field("profile", line(run.profile))
    yield field("agent", line(run.agent_words))
    yield field("directory", line(run.root))
    if run.parent_id:
        yield field("part of", line(run.parent_id))
    yield field("limits", _limits(run, look.budget))
    for words in _quota(run, now):
        yield field("left", words)
    if reason := reason_line(run):
        yield field(run.state.words, reason)
    for pull in look.pull_requests:
        yield from _pull_request(pull, MOST_CHECKS_BELOW, width)
    yield from listed("Concerns", run.concerns, "$text-warning")
    if (started := look.started) is not None:
        yield from listed("Before you leave it unattended", started.notes, "$text-warning")
        yield from listed("Sandbox", started.sandbox)
        if started.proof is not None:
            yield from listed("Proof", [started.proof.words])
        yield from listed("Commands that ralph runs", started.commands)
    yield from listed("Warnings and your notes", [note.text for note in look.notes], "$text-warning")


def _limits(run: RunView, budget: Budget) -> str:
    found = (
        f"{run.maximum} iterations" if run.maximum else "",
        money(budget.cost_usd) if budget.cost_usd else "",
        f"{compact(budget.tokens)} tokens" if budget.tokens else "",
        whole_duration(budget.seconds) if budget.seconds else "",
    )
    return ", ".join(filter(None, found)) or "none"
