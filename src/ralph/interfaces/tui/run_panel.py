"""Beside the stream: what the loop is at, the last checks, the agent's own list, cost and time, and what was noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from textual.content import Content
from textual.widgets import Static

from ralph.domain.agent.events import TodoItem, TodoStatus
from ralph.domain.loop.evidence import Verdict
from ralph.domain.text.figures import duration, money, plural
from ralph.domain.views.iterations import IterationView
from ralph.interfaces.tui.charts import sparkline
from ralph.interfaces.tui.marks import clock_time, line, verdict_mark
from ralph.interfaces.tui.watch import RunLook
from ralph.interfaces.tui.wrapping import cut

MOST_TODO = 12
MOST_CHECKS = 8
MOST_NOTES = 4
_TODO = {
    TodoStatus.DONE: ("☑", "$text-success"),
    TodoStatus.ACTIVE: ("▸", "bold $text-accent"),
    TodoStatus.PENDING: ("☐", "$foreground 60%"),
}


class RunPanel(Static):
    """The agent panel: a column beside wide streams."""

    def show(self, look: RunLook | None, zone: tzinfo | None) -> None:
        if look is None or look.run is None:
            self.update("")
            return
        width = max(16, self.size.width - 2)
        self.update(Content("\n").join(_sections(look, width, zone)))


def _sections(look: RunLook, width: int, zone: tzinfo | None) -> Iterator[Content]:
    last = look.iterations[-1] if look.iterations else None
    yield _title("Loop")
    yield from _loop(look, last)
    if checked := next((each for each in reversed(look.iterations) if each.checks), None):
        yield _title(f"Checks of iteration {checked.iteration}")
        yield from _checks(checked, look, width)
    if look.todo:
        yield _title("The agent's to-do list")
        yield from _todo(look.todo, width)
    if len(look.iterations) > 1:
        yield from _charts(look, width)
    if look.notes:
        yield _title("Notes")
        for note in look.notes[-MOST_NOTES:]:
            sign = "➤" if note.kind == "steered" else "!"
            yield Content.styled(
                cut(f"{sign} {clock_time(note.at, zone)} {line(note.text)}", width), "$text-warning"
            )


def _title(text: str) -> Content:
    return Content.styled(f"\n{text}", "bold $text-accent")


def _loop(look: RunLook, last: IterationView | None) -> Iterator[Content]:
    if last is None:
        yield Content.styled("no iteration yet", "$foreground 60%")
        return
    attempt = f", attempt {last.attempt}" if last.attempt > 1 else ""
    yield Content(f"iteration {last.iteration}{attempt}")
    if last.role:
        yield Content.assemble(("role ", "$foreground 60%"), line(last.role))
    if last.assignment not in ("", "prompt"):
        yield Content.assemble(("on ", "$foreground 60%"), line(last.assignment))
    state = "session under way" if not last.ending else "being checked" if not last.decision else ""
    if state and look.run is not None and look.run.live:
        yield Content.styled(state, "$text-success")
    denied = sum(each.denied for each in look.iterations)
    if denied:
        yield Content.styled(f"{plural(denied, 'claim')} denied by checks", "$text-warning")


def _checks(each: IterationView, look: RunLook, width: int) -> Iterator[Content]:
    rates = {rate.name: rate for rate in look.rates}
    ordered = sorted(each.checks, key=lambda check: check.verdict is Verdict.PASSED)
    for check in ordered[:MOST_CHECKS]:
        mark, style = verdict_mark(check.verdict.value)
        rate = rates.get(check.name)
        often = f" {rate.passed}/{rate.ran}" if rate is not None else ""
        yield Content.assemble(
            (f"{mark} ", style), cut(line(check.name), width - 2 - len(often)), (often, "$foreground 60%")
        )
    if len(ordered) > MOST_CHECKS:
        yield Content.styled(f"… {len(ordered) - MOST_CHECKS} more", "$foreground 60%")


def _todo(items: Sequence[TodoItem], width: int) -> Iterator[Content]:
    for item in items[:MOST_TODO]:
        mark, style = _TODO[item.status]
        yield Content.styled(cut(f"{mark} {line(item.text)}", width), style)
    if len(items) > MOST_TODO:
        yield Content.styled(f"… {len(items) - MOST_TODO} more", "$foreground 60%")


def _charts(look: RunLook, width: int) -> Iterator[Content]:
    costs = [each.spend.cost_usd or 0.0 for each in look.iterations[-width:] if each.decision]
    seconds = [each.seconds for each in look.iterations[-width:] if each.decision]
    if any(costs):
        yield _title("Cost per iteration")
        yield Content.styled(sparkline(costs, width), "$text-warning")
        yield Content.styled(f"{money(sum(costs) / len(costs))} on average", "$foreground 60%")
    if any(seconds):
        yield _title("Time per iteration")
        yield Content.styled(sparkline(seconds, width), "$text-primary")
        yield Content.styled(f"{duration(sum(seconds) / len(seconds))} on average", "$foreground 60%")
