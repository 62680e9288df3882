"""Every face says the same about a decision, in its own colours."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.domain.loop.decision import DecisionKind, Outcome
from ralph.domain.loop.events import ClaimsSought, IterationEnded, IterationStarted, LoopEvent, RunEnded
from ralph.domain.loop.session_report import Spend
from ralph.domain.views.decisions import Tone, describe_decision
from ralph.domain.views.iterations import IterationView, Timeline, figures_of
from ralph.domain.views.runs import FeedEvent, RunState, RunView
from ralph.interfaces.cli.commands.show import IterationText
from ralph.interfaces.cli.console.github import summary_of
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.terminal import Look
from ralph.interfaces.report.content import ReportContent
from ralph.interfaces.report.html_page import html_report
from ralph.interfaces.report.markdown import markdown_report
from ralph.interfaces.tui.columns import IterationColumns
from ralph.interfaces.tui.details import iteration_lines
from ralph.interfaces.tui.stream_text import StreamText
from ralph.interfaces.web.page_data import event_data, iteration_data
from ralph.operations.runs.files import RunFiles

LOOK = Look(max_lines=None, max_chars=None, color=True)
ENDED = RunEnded(Outcome.CANCELLED, "", 1, Spend(), 1.0)
RUN = RunView(
    id="r",
    profile="verified",
    agent="claude",
    root="/w",
    state=RunState.CANCELLED,
    live=False,
    iteration=1,
    maximum=None,
    cost_usd=None,
    tokens=0,
    last_check=None,
    started_at=1.0,
    active_at=1.0,
    ended_at=1.0,
    waits_until=None,
    reason="",
)


def happened(decision: str, *claims: str) -> list[LoopEvent]:
    return [
        IterationStarted(1, 1, None, "T-1/reviewer", role="reviewer"),
        ClaimsSought(claims),
        IterationEnded(1, 1, decision, "because", False, False, Spend(), 2.0),
    ]


def folded(events: list[LoopEvent]) -> IterationView:
    timeline = Timeline()
    for seq, event in enumerate(events, 1):
        timeline.take(seq, 1.0, event)
    return timeline.iterations[0]


def report(each: IterationView) -> ReportContent:
    return ReportContent(
        run=RUN,
        asked="",
        iterations=(each,),
        left_out=0,
        notes=(),
        header=(),
        concerns=(),
        figures=figures_of((each,)),
    )


def stored(event: LoopEvent, seq: int = 1) -> FeedEvent:
    from ralph.adapters.storage.wire import encode_event

    return FeedEvent(seq, 1, 1.0, event.kind, encode_event(event))


# --- what each face says: its words, and the colour it gave them ---

Said = tuple[str, str]


def console(events: list[LoopEvent]) -> Said:
    err = io.StringIO()
    listener = Console(io.StringIO(), err, LOOK, verbose=False, stream_agent_output=False)
    for event in events:
        listener(event, 1.0)
    line = err.getvalue().splitlines()[-1]
    return line, line.partition("m")[0]


def github(events: list[LoopEvent]) -> Said:
    timeline = Timeline([folded(events)])
    return summary_of(timeline, ENDED), ""


def show(events: list[LoopEvent]) -> Said:
    return IterationText(LOOK, RunFiles(Path(), "run")).lines(folded(events))[-1], ""


def tui_stream(events: list[LoopEvent]) -> Said:
    text = StreamText()
    lines = [line for event in events for line in text.take(stored(event))]
    line = next(line for line in lines if line.text.startswith("→"))
    return line.text, line.style


def tui_list(events: list[LoopEvent]) -> Said:
    column = next(column for column in IterationColumns().columns() if column.title == "decision")
    cell = column.cell(folded(events))
    return cell.plain, str(cell.spans[0].style)


def tui_detail(events: list[LoopEvent]) -> Said:
    lines = iteration_lines(folded(events), "", None, live=False)
    line = next(line for line in lines if line.plain.startswith("decision"))
    return line.plain, str(line.spans[-1].style)


def page_list(events: list[LoopEvent]) -> Said:
    told = iteration_data(folded(events), live=False)
    return told["words"], told["tone"]


def page_stream(events: list[LoopEvent]) -> Said:
    told = event_data(stored(events[-1]), folded(events).claims)
    return told["words"], told["tone"]


def html(events: list[LoopEvent]) -> Said:
    text = html_report(report(folded(events))).partition("<summary>")[2]
    return text, text.partition('class="')[2].partition('"')[0]


def markdown(events: list[LoopEvent]) -> Said:
    return markdown_report(report(folded(events))), ""


FACES: list[tuple[Callable[[list[LoopEvent]], Said], dict[Tone, str]]] = [
    (console, {Tone.GOOD: "\x1b[32", Tone.OPEN: "\x1b[36", Tone.BAD: "\x1b[31"}),
    (github, {}),
    (show, {}),
    (tui_stream, {Tone.GOOD: "good", Tone.OPEN: "claim", Tone.BAD: "bad"}),
    (tui_list, {Tone.GOOD: "$text-success", Tone.OPEN: "$text-primary", Tone.BAD: "$text-error"}),
    (tui_detail, {Tone.GOOD: "$text-success", Tone.OPEN: "$text-primary", Tone.BAD: "$text-error"}),
    (page_list, {tone: tone.value for tone in Tone}),
    (page_stream, {tone: tone.value for tone in Tone}),
    (html, {Tone.GOOD: "good", Tone.OPEN: "odd", Tone.BAD: "bad"}),
    (markdown, {}),
]


@pytest.mark.parametrize(("face", "colors"), FACES, ids=[face.__name__ for face, _ in FACES])
@pytest.mark.parametrize(
    ("decision", "claims"),
    [
        *((kind, ()) for kind in DecisionKind),
        (DecisionKind.GIVE_UP, ("rejected: tag reject",)),
        ("later", ()),
    ],
)
def test_every_face_uses_the_shared_words_and_tone(
    face: Callable[[list[LoopEvent]], Said], colors: dict[Tone, str], decision: str, claims: tuple[str, ...]
) -> None:
    wording = describe_decision(decision, claims)
    if face is console and decision == DecisionKind.STOP:
        pytest.skip("there the end of the run says why")
    said, color = face(happened(decision, *claims))
    words = wording.announcement if face is console else wording.words
    assert words in said
    assert color == colors.get(wording.tone, color)


def test_the_page_maps_every_tone_to_a_class() -> None:
    script = (Path(__file__).parents[3] / "src/ralph/interfaces/web/static/events.js").read_text()
    (line,) = (line for line in script.splitlines() if line.startswith("export const TONES"))
    keys = json.loads(
        line.partition("=")[2].rstrip("; ").replace("{ ", '{ "').replace(": ", '": ').replace(", ", ', "')
    )
    assert set(keys) == set(Tone)
