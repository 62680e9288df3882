"""Dialogs with everything about one card or one iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from ralph.domain.proof.layer_names import check_words
from ralph.domain.tasks.task import TaskAsk
from ralph.domain.text.figures import compact, duration, money
from ralph.domain.text.safe_text import clean
from ralph.domain.views.board import Card, CardDetail, HistoryEntry, StageCriteria
from ralph.domain.views.decisions import describe_iteration
from ralph.domain.views.iterations import IterationView
from ralph.interfaces.tui.marks import (
    DIM,
    TONE_STYLES,
    clock_time,
    dim,
    field,
    line,
    listed,
    title,
    verdict_mark,
)

LONGEST_TEXT = 20_000
MOST_HISTORY = 100


class Detail(ModalScreen[str]):
    """A text to scroll through. Answers with what the user asked for, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss('')", "Back"),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("down,j", "scroll(1)", "Down", show=False),
    ]

    def __init__(self, parts: Sequence[Content]) -> None:
        super().__init__()
        self._parts = parts

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog large"):
            yield Static(Content("\n").join(self._parts))
        yield Footer()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss("")


class CardDialog(Detail):
    """A task or a story."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "dismiss('cancel')", "Cancel task"),
        Binding("r", "dismiss('retry')", "Retry"),
        Binding("enter", "dismiss('run')", "Open run"),
    ]

    def __init__(self, detail: CardDetail, zone: tzinfo | None) -> None:
        super().__init__(list(_card(detail, zone)))
        self._asks = detail.card.asks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what may be asked of the card."""
        asked = parameters[0] if action == "dismiss" and parameters else ""
        return asked not in list(TaskAsk) or asked in self._asks


class IterationDialog(Detail):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "dismiss('logs')", "Logs")]

    def __init__(self, each: IterationView, prompt: str, zone: tzinfo | None, *, live: bool) -> None:
        super().__init__(list(iteration_lines(each, prompt, zone, live=live)))


# --- a card ---


def _card(detail: CardDetail, zone: tzinfo | None) -> Iterator[Content]:
    card = detail.card
    yield Content.assemble((line(card.id), "bold $text-accent"), "  ", (line(card.title), "bold"))
    yield from _card_figures(card)
    if detail.depends_on:
        yield field("depends on", line(", ".join(detail.depends_on)))
    if card.note:
        yield title("Feedback")
        yield Content.styled(_block(card.note), "$text-warning")
    if detail.description:
        yield title("Description")
        yield Content(_block(detail.description))
    yield from listed("Acceptance criteria", detail.criteria)
    if detail.completion:
        yield title("What each role must show")
        for stage in detail.completion:
            yield from _stage(stage, card)
    yield title("Verification history")
    if not detail.history:
        yield dim("nothing yet")
    for entry in detail.history[:MOST_HISTORY]:
        yield _entry(entry, zone)


def _card_figures(card: Card) -> Iterator[Content]:
    status = f" · {line(card.status)}" if card.status else ""
    yield field("stage", line(card.lane.replace("_", " ")) + status)
    if card.iteration or card.maximum:
        yield field("iterations", f"{card.iteration}" + (f" of {card.maximum}" if card.maximum else ""))
    if card.rounds:
        yield field("sent back", f"{card.rounds} times" if card.rounds > 1 else "once", "$text-warning")
    yield field("priority", str(card.priority))
    if card.proof:
        yield field("proven by", line(card.proof))
    if card.run_id:
        yield field("run", line(card.run_id), "$text-success")


def _stage(stage: StageCriteria, card: Card) -> Iterator[Content]:
    is_now = stage.role == card.role
    promise = f"promises {line(stage.promise)}" if stage.promise else ""
    limit = f"at most {stage.maximum} iterations" if stage.maximum else ""
    yield Content.assemble(
        ("▸ " if is_now else "  ", "$text-accent"),
        (f"{line(stage.role):<10}", "bold" if is_now else ""),
        line(stage.proof) or dim("unknown"),
    )
    if promise or limit:
        yield dim(f"            {' · '.join(filter(None, (promise, limit)))}")
    if stage.description:
        yield Content(f"            {line(stage.description)}")


def _entry(entry: HistoryEntry, zone: tzinfo | None) -> Content:
    mark, style = verdict_mark(entry.verdict) if entry.verdict else ("·", DIM)
    number = f" #{entry.iteration}" if entry.iteration else ""
    often = f"{entry.times} times: " if entry.times > 1 else ""
    return Content.assemble(
        (f"{clock_time(entry.at, zone)} ", DIM),
        (f"{mark} ", style),
        often + f"{line(entry.role)}{number} {line(entry.what).replace('_', ' ')}".strip(),
        (f"  {line(entry.reason)}" if entry.reason else "", DIM),
    )


# --- an iteration ---


def iteration_lines(
    each: IterationView, prompt: str, zone: tzinfo | None, *, live: bool
) -> Iterator[Content]:
    attempt = f", attempt {each.attempt}" if each.attempt > 1 else ""
    yield Content.styled(f"Iteration {each.iteration}{attempt}", "bold $text-accent")
    yield field("started", clock_time(each.started_at, zone))
    if each.assignment not in ("", "prompt"):
        yield field("about", line(each.assignment))
    if each.role:
        yield field("role", line(each.role))
    wording = describe_iteration(each, live=live)
    decision = f"{line(wording.words)}: {line(each.reason)}".rstrip(": ")
    yield field("decision", decision, TONE_STYLES[wording.tone])
    if each.fault:
        yield field("fault", line(each.fault), "$text-error")
    if each.ending:
        code = f" {each.exit_code}" if each.exit_code is not None else ""
        yield field("session", f"{line(each.ending)}{code}, {each.tools} tools, {each.tool_errors} failed")
    cost = money(each.spend.cost_usd) if each.spend.cost_usd is not None else "unknown cost"
    tokens = f"{compact(each.spend.usage.total)} tokens" if each.spend.usage.total else ""
    yield field("spent", " · ".join(filter(None, (cost, tokens, duration(each.seconds)))))
    if each.commit:
        yield field("commit", line(each.commit[:12]))
    yield title("Claims")
    yield Content(line(", ".join(each.claims)) or "none")
    if each.denied:
        yield Content.styled("denied by the checks", "$text-error")
    yield title("Checks")
    yield from _checks(each)
    for action in each.actions:
        mark, style = ("✔", "$text-success") if action.ok else ("✘", "$text-error")
        yield Content.assemble((f"{mark} ", style), f"{line(action.name)}  ", (line(action.message), DIM))
    yield title("Prompt")
    yield dim(_block(prompt))


def _checks(each: IterationView) -> Iterator[Content]:
    if not each.checks:
        yield dim("none")
    for check in each.checks:
        mark, style = verdict_mark(check.verdict.value)
        code = f", exit {check.exit_code}" if check.exit_code is not None else ""
        receipt = f"  {check.verdict.value} in {duration(check.seconds)}{code}  {line(check.command)}"
        yield Content.assemble((f"{mark} {line(check_words(check.name))}", style), (receipt, DIM))
        if check.reason:
            yield Content(f"  {line(check.reason)}")
        for row in check.last_lines[-10:]:
            yield dim(f"  │ {line(row)}")


def _block(text: str) -> str:
    more = f"\n… {len(text) - LONGEST_TEXT:,} more characters" if len(text) > LONGEST_TEXT else ""
    return clean(text[:LONGEST_TEXT]).strip() + more
