"""What one should know about a run before leaving it alone: permissions, the sandbox, every command, its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content
from textual.widgets import Static

from ralph.domain.loop.budget import Budget
from ralph.domain.text.figures import compact, money, whole_duration
from ralph.domain.views.runs import RunView
from ralph.interfaces.tui.details import field, title
from ralph.interfaces.tui.marks import line, reason_line
from ralph.interfaces.tui.watch import RunLook


class AboutRun(Static):
    def show(self, look: RunLook | None) -> None:
        if look is None or look.run is None:
            self.update(Content.styled("no run is selected", "$foreground 60%"))
        else:
            self.update(Content("\n").join(_parts(look, look.run)))


def _parts(look: RunLook, run: RunView) -> Iterator[Content]:
    yield Content.styled(line(run.id), "bold $text-accent")
    yield field("profile", line(run.profile))
    yield field("agent", line(run.agent))
    yield field("directory", line(run.root))
    if run.parent_id:
        yield field("part of", line(run.parent_id))
    yield field("limits", _limits(run, look.budget))
    if reason := reason_line(run):
        yield field(run.state.value, reason)
    yield from _listed("Concerns", run.concerns, "$text-warning")
    started = look.started
    if started is not None:
        yield from _listed("Before you leave it unattended", started.notes, "$text-warning")
        yield from _listed("Sandbox", started.sandbox)
        yield from _listed("Commands that ralph runs", started.commands)
    notes = [note.text for note in look.notes]
    yield from _listed("Warnings and your notes", notes, "$text-warning")


def _listed(name: str, texts: Sequence[str], style: str = "") -> Iterator[Content]:
    if texts:
        yield title(name)
        for text in texts:
            yield Content.assemble("• ", (line(text), style))


def _limits(run: RunView, budget: Budget) -> str:
    found = [f"{run.maximum} iterations" if run.maximum else ""]
    found.append(money(budget.cost_usd) if budget.cost_usd else "")
    found.append(f"{compact(budget.tokens)} tokens" if budget.tokens else "")
    found.append(whole_duration(budget.seconds) if budget.seconds else "")
    return ", ".join(filter(None, found)) or "none"
