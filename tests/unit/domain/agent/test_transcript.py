"""What a session leaves: the assistant's own words, and nobody else's."""

from __future__ import annotations

from ralph.domain.agent.events import (
    ErrorReported,
    LimitReported,
    Noise,
    Reasoning,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
    UsageReported,
)
from ralph.domain.agent.transcript import DECIDING_LIMIT, TEXT_LIMIT, Transcript
from ralph.domain.loop.claims import MAX_TAGS, Tag

CLAIM = "<response>DONE</response>"


def transcript(*events: object) -> Transcript:
    taken = Transcript(["response"])
    taken.take(events)  # type: ignore[arg-type]
    return taken


def test_only_the_assistants_own_words_are_searched() -> None:
    taken = transcript(
        Reasoning(CLAIM),
        ToolStarted("1", "Bash", CLAIM),
        ToolEnded("1", "Bash", CLAIM),
        Text(CLAIM, parent="task_1"),
        Noise(CLAIM),
        TurnEnded(text=CLAIM, error="api error"),
        ErrorReported(CLAIM),
    )
    assert taken.tags == ()
    assert taken.text == ""


def test_a_final_answer_that_repeats_the_last_words_is_heard_once() -> None:
    taken = transcript(Text(CLAIM), TurnEnded(text=CLAIM + "\n"))
    assert taken.tags == (Tag("response", "DONE"),)
    assert taken.text == CLAIM


def test_a_tag_may_span_deltas_but_not_blocks() -> None:
    assert transcript(Text("<resp", final=False), Text("onse>DONE</response>")).tags
    assert not transcript(Text("<resp"), Text("onse>DONE</response>")).tags


def test_spend_adds_up_over_turns_and_takes_running_totals_as_they_are() -> None:
    one = Usage(10, 1, 5, 2)
    added = transcript(TurnEnded(usage=one, cost_usd=0.5), TurnEnded(usage=one, cost_usd=0.25))
    total = transcript(
        TurnEnded(usage=one, cost_usd=0.5), TurnEnded(usage=one, cost_usd=0.75, cumulative=True)
    )
    assert (added.usage, added.cost_usd) == (Usage(20, 2, 10, 4), 0.75)
    assert (total.usage, total.cost_usd) == (one, 0.75)


def test_figures_that_cannot_be_are_not_added_up() -> None:
    taken = transcript(
        TurnEnded(usage=Usage(2**63, 5), cost_usd=1e308),
        TurnEnded(usage=Usage(-1, 5), cost_usd=-5.0),
        TurnEnded(usage=Usage(7, 1), cost_usd=float("nan")),
    )
    assert (taken.usage, taken.cost_usd) == (Usage(7, 1), None)


def test_unknown_cost_stays_unknown() -> None:
    assert transcript(TurnEnded(usage=Usage(1, 1))).cost_usd is None


def test_figures_and_deciding_events_are_kept() -> None:
    limit, error = LimitReported(rejected=True), ErrorReported("429", status=429)
    taken = transcript(
        ToolStarted("1", "Bash"), ToolEnded("1", is_error=True), limit, error, Unknown("new"), Noise("hi")
    )
    assert (taken.tools, taken.tool_errors, taken.unknown_events, taken.noise_lines) == (1, 1, 1, 1)
    assert taken.deciding == (limit, error)


def test_a_session_with_neither_words_nor_tools_is_empty() -> None:
    assert transcript(TurnEnded(), Text(" \n")).is_empty
    assert not transcript(ToolStarted("1", "Bash")).is_empty


def test_memory_is_bounded_whatever_is_said() -> None:
    taken = Transcript(["response"])
    for _ in range(40):
        taken.take([Text("x" * 100_000, final=False)])
    taken.take([Text(CLAIM)])
    taken.take([ErrorReported("over", final=True)] * 3 * DECIDING_LIMIT)
    taken.take([Text("<response>x</response>" * 5 * MAX_TAGS)])
    assert len(taken.text) < TEXT_LIMIT + 100
    assert len(taken.deciding) == DECIDING_LIMIT
    assert taken.tags[0] == Tag("response", "DONE")
    assert len(taken.tags) == MAX_TAGS


def test_usage_is_a_running_figure_that_the_end_of_the_turn_replaces() -> None:
    taken = transcript(UsageReported(Usage(10, 1)), UsageReported(Usage(10, 1)))
    assert taken.usage == Usage(20, 2)
    taken.take([TurnEnded(usage=Usage(20, 300))])
    assert taken.usage == Usage(20, 300)
    taken.take([UsageReported(Usage(5, 1))])
    assert taken.usage == Usage(25, 301)
    taken.take([TurnEnded(usage=Usage(5, 70))])
    assert taken.usage == Usage(25, 370)
    taken.take([UsageReported(Usage(5, 1)), TurnEnded(usage=Usage(30, 400), cumulative=True)])
    assert taken.usage == Usage(30, 400)


def test_a_turn_that_does_not_say_what_it_used_has_used_what_was_reported() -> None:
    taken = transcript(UsageReported(Usage(10, 1), cost_usd=0.5), TurnEnded(error="it failed"))
    assert (taken.usage, taken.cost_usd) == (Usage(10, 1), 0.5)


def test_tokens_without_money_are_priced_by_the_model() -> None:
    taken = Transcript([], price=lambda usage, model: usage.total / 10 if model == "m" else None)
    taken.take([SessionStarted(model="m"), UsageReported(Usage(10))])
    assert taken.cost_usd == 1.0
    taken.take([TurnEnded(usage=Usage(30))])
    assert taken.cost_usd == 3.0
    taken.take([UsageReported(Usage(10))])
    assert taken.cost_usd == 4.0
    taken.take([TurnEnded(usage=Usage(50), cumulative=True)])
    assert taken.cost_usd == 5.0


def test_money_that_the_agent_reports_is_believed_before_any_price() -> None:
    taken = Transcript([], price=lambda usage, model: 100.0)
    taken.take([UsageReported(Usage(10), cost_usd=0.25), UsageReported(Usage(10), cost_usd=0.25)])
    assert taken.cost_usd == 0.5
    taken.take([TurnEnded(usage=Usage(20), cost_usd=0.75)])
    assert taken.cost_usd == 0.75


def test_a_model_without_a_price_costs_nobody_knows_what() -> None:
    assert transcript(SessionStarted(model="m"), TurnEnded(usage=Usage(10))).cost_usd is None
    assert transcript(UsageReported(Usage(10))).cost_usd is None


def test_unbelievable_reports_are_not_added_up() -> None:
    taken = transcript(UsageReported(Usage(-5)), UsageReported(Usage(2**60), cost_usd=float("inf")))
    assert (taken.usage, taken.cost_usd) == (Usage(), None)


def test_a_retry_is_remembered_until_it_is_overcome() -> None:
    retry, failure = ErrorReported("again", 529), ErrorReported("over", 500, "", True)
    assert transcript(retry, retry, retry).deciding == (retry,)
    assert transcript(retry, Text("on we go")).deciding == ()
    assert transcript(retry, ToolStarted("1", "Bash"), retry).deciding == (retry,)
    assert transcript(retry, failure, Text("sorry")).deciding == (retry, failure)
    later = transcript(Text("hello"), retry)
    later.take([Noise("x")])
    assert later.deciding == (retry,)
    later.take([ToolEnded("1")])
    assert not later.deciding
