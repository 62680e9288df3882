"""The head of the screen: the state of the run, its progress, what it has spent of its limits, what it waits for."""

from __future__ import annotations

from pathlib import PurePath

from textual.content import Content
from textual.widgets import Static

from ralph.domain.loop.budget import Budget
from ralph.domain.text.figures import compact, money, whole_duration
from ralph.domain.views.decisions import describe_iteration
from ralph.domain.views.runs import RunState, RunView
from ralph.interfaces.tui.charts import bar
from ralph.interfaces.tui.marks import STATE_MARKS, line, reason_line
from ralph.interfaces.tui.watch import RunLook
from ralph.interfaces.tui.wrapping import wrapped

GAUGE = 8
Piece = Content | str | tuple[str, str]


class RunHeader(Static):
    """Redrawn with every look, and every second while something counts."""

    def show(self, look: RunLook | None, *, now: float, problem: str, empty: str) -> None:
        if problem:
            said = wrapped(f" ! {line(problem)}", self.size.width - 1, indent=3)
            self.update(Content.styled("\n".join(said[:3]), "bold $text-error"))
        elif look is None or look.run is None:
            self.update(Content.styled(f" {empty}", "$foreground 60%"))
        else:
            rows = (_who(look.run), _how_far(look.run, look.budget, now), _what_now(look, look.run, now))
            self.update(Content("\n").join(rows))


def _who(run: RunView) -> Content:
    mark, style = STATE_MARKS[run.state]
    return Content.assemble(
        (f" {mark} {run.state.value} ", f"bold {style}"),
        (f" {line(run.id)}", "bold"),
        (f"  {line(run.profile)} · {line(run.agent)} · {line(PurePath(run.root).name)}", "$foreground 60%"),
    )


def _how_far(run: RunView, budget: Budget, now: float) -> Content:
    pieces: list[Piece] = [" "]
    of = f"/{run.maximum}" if run.maximum else ""
    pieces += [("iteration ", "$foreground 60%"), (f"{run.iteration}{of}", "bold")]
    if run.maximum:
        pieces += _gauge(run.iteration / run.maximum, "$text-primary")
    pieces += _spent(run, budget)
    seconds = (run.ended_at or (now if run.live else run.active_at)) - run.started_at
    pieces += ["  ", whole_duration(max(0.0, seconds))]
    if budget.seconds:
        pieces += [(f" of {whole_duration(budget.seconds)}", "$foreground 60%")]
    return Content.assemble(*pieces)


def _spent(run: RunView, budget: Budget) -> list[Piece]:
    pieces: list[Piece] = ["  "]
    if run.cost_usd is not None:
        pieces.append((("≥" if run.cost_is_partial else "") + money(run.cost_usd), "bold"))
        if budget.cost_usd:
            pieces.append((f" of {money(budget.cost_usd)}", "$foreground 60%"))
            pieces += _gauge(run.cost_usd / budget.cost_usd)
    if run.tokens or run.cost_usd is None:
        pieces += ["  " if run.cost_usd is not None else "", f"{compact(run.tokens)} tokens"]
        if budget.tokens:
            pieces.append((f" of {compact(budget.tokens)}", "$foreground 60%"))
            pieces += _gauge(run.tokens / budget.tokens)
    return pieces


def _gauge(share: float, style: str = "") -> list[Piece]:
    """Green while there is room, then yellow, red at the end."""
    filled, empty = bar(share, GAUGE)
    style = style or ("$text-success" if share < 0.7 else "$text-warning" if share < 0.95 else "$text-error")
    return [" ", (filled, style), (empty, "$foreground 35%")]


def _what_now(look: RunLook, run: RunView, now: float) -> Content:
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
        return Content.styled(
            f" → {line(describe_iteration(last).words)}: {line(last.reason)}", "$foreground 60%"
        )
    doing = line(look.tool) or (f"{len(last.checks)} checks done" if last.ending else "the agent is working")
    role = f"{line(last.role)} · " if last.role else ""
    what = f"{line(last.assignment)} · " if last.assignment not in ("", "prompt") else ""
    since = whole_duration(max(0.0, now - last.started_at))
    return Content.assemble((f" {since} ", "bold $text-primary"), (f"{role}{what}", "$text-accent"), doing)
