"""Events in, spans out."""

from __future__ import annotations

from ralph.domain.agent.events import (
    AgentEvent,
    SessionStarted,
    Text,
    ToolEnded,
    ToolStarted,
    Usage,
)
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    ActionEnded,
    ActionStarted,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    StopRequested,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Ending, Fault, RateLimited, Spend
from ralph.domain.telemetry.identity import place_of, span_of
from ralph.domain.telemetry.session_span import MOST_OPEN_TOOLS, OpenSession, program_of
from ralph.domain.telemetry.span import Span
from ralph.domain.telemetry.tracing import TracedRun, Tracing

RUN = TracedRun("r1", "basic", "claude", "shop")
STARTED = RunStarted("r1", "basic", "claude", "/shop")
SPEND = Spend(0.5, Usage(10, 5, 80, 1))
ENDED = RunEnded(Outcome.COMPLETED, "done", 1, SPEND, 9.0)


def tracing(*, content: bool = False) -> Tracing:
    return Tracing(RUN, place_of("r1"), content=content)


def told(fold: Tracing, *events: LoopEvent, begin: float = 0.0) -> list[Span]:
    """One event a second."""
    return [span for at, event in enumerate(events) for span in fold.take(event, begin + at)]


def begun(iteration: int = 1, attempt: int = 1) -> IterationStarted:
    return IterationStarted(iteration, attempt, None, "prompt")


def judged(decision: str = "accept") -> IterationEnded:
    return IterationEnded(1, 1, decision, "because", True, True, SPEND, 3.0)


def session(purpose: str = "iteration", fault: Fault | None = None) -> tuple[AgentStarted, AgentEnded]:
    ended = AgentEnded(Ending.EXITED, 0, 1.0, SPEND, fault=fault, purpose=purpose)
    return AgentStarted("/bin/claude -p secret", 1, purpose), ended


def acted(*events: AgentEvent) -> AgentActed:
    return AgentActed(events)


def test_each_span_ends_inside_its_parent() -> None:
    start, end = session()
    check = CheckResult("tests", Verdict.PASSED)
    spans = told(
        tracing(), STARTED, begun(), start, end, CheckStarted("tests"), CheckEnded(check), judged(), ENDED
    )
    assert [(span.name, span.start, span.end) for span in spans] == [
        ("invoke_agent claude", 2, 3),
        ("check tests", 4, 5),
        ("iteration", 1, 6),
        ("invoke_workflow ralph", 0, 7),
    ]
    agent, checked, iteration, run = spans
    assert (agent.parent_id, checked.parent_id) == (iteration.id, iteration.id)
    assert (iteration.parent_id, run.parent_id) == (run.id, "")
    assert "secret" not in repr(spans), "a command line may hold the prompt"


def test_tools_are_a_part_of_their_session_and_those_of_a_sub_agent_of_its_call() -> None:
    start, end = session()
    spans = told(
        tracing(),
        start,
        acted(
            SessionStarted("s1", "opus"), ToolStarted("t1", "Task"), ToolStarted("t2", "Bash", parent="t1")
        ),
        acted(ToolEnded("t2", "Bash", "out", is_error=True), ToolEnded("t1"), ToolEnded("t9", "Late")),
        acted(ToolStarted("t3", "Read")),
        end,
    )
    inner, outer, late, left, agent = spans
    assert inner.parent_id == outer.id
    assert {outer.parent_id, late.parent_id, left.parent_id} == {agent.id}
    assert (inner.error, outer.error, left.error) == ("tool_error", "", "unfinished")
    assert outer.attributes["gen_ai.conversation.id"] == "s1"
    assert agent.attributes["gen_ai.request.model"] == "opus"
    assert agent.attributes["gen_ai.usage.input_tokens"] == 91, "with the cache, as the conventions want it"
    assert len({span.id for span in spans}) == len(spans)


def test_texts_are_left_out_unless_they_are_wanted() -> None:
    start, end = session()
    events = (
        IterationStarted(1, 1, None, "prompt", prompt="Do it."),
        start,
        acted(Text("I will."), ToolStarted("t", "Bash", "make all"), ToolEnded("t", "Bash", "built")),
        end,
    )
    for content in (False, True):
        spans = told(tracing(content=content), *events)
        for text in ("Do it.", "I will.", "make all", "built"):
            assert (text in repr(spans)) is content


def test_a_fault_is_an_error_with_its_reason() -> None:
    (span,) = told(tracing(), *session(fault=RateLimited("come back at five")))
    assert (span.error, span.message) == ("rate_limited", "come back at five")
    (span,) = told(tracing(), AgentEnded(Ending.NOT_STARTED, None, 0.5, Spend()), begin=10)
    assert (span.start, span.end, span.error) == (9.5, 10, "not_started")


def test_a_judge_belongs_to_its_check_and_of_several_at_once_to_the_iteration() -> None:
    fold = tracing()
    told(fold, STARTED, begun(), CheckStarted("one"))
    (alone,) = told(fold, *session("verification"))
    told(fold, CheckStarted("two"))
    (unclear,) = told(fold, *session("verification"))
    (check,) = told(fold, CheckEnded(CheckResult("one", Verdict.FAILED, reason="no", exit_code=1)))
    assert alone.parent_id == check.id
    assert unclear.parent_id == check.parent_id
    assert (check.error, check.message) == ("failed", "no")


def test_waits_end_when_something_is_done_again() -> None:
    fold = tracing()
    spans = told(fold, STARTED, PauseBegan("limit", 99.0, "rate_limited"), Warned("still"), begun(), begin=5)
    spans += told(fold, judged(), RunPaused(), RunUnpaused(), PauseBegan("x", 9.0), StopRequested(False))
    assert [(span.name, span.start, span.end) for span in spans if span.name.startswith("wait")] == [
        ("wait rate_limited", 6, 8),
        ("wait user", 1, 2),
        ("wait other", 3, 4),
    ]


def test_a_process_that_resumes_a_killed_run_continues_its_spans() -> None:
    earlier: list[tuple[LoopEvent, float]] = [(STARTED, 1.0), (begun(), 2.0), (session()[0], 3.0)]
    first = tracing()
    number = first.reserve()
    first.begin_reserved(number)
    for event, at in earlier:
        assert first.take(event, at) == []
    parent = first.traceparent(number)

    later = tracing()
    cut = later.take_up(iter(earlier), 50.0)
    assert [(span.name, span.error, span.end) for span in cut] == [
        ("invoke_agent claude", "interrupted", 3.0),
        ("iteration", "interrupted", 3.0),
    ]
    assert parent.split("-")[2] == cut[0].id, "the one that its agent was told"
    start, end = session()
    spans = told(
        later,
        RunStarted("r1", "basic", "claude", "/shop", resumed=True),
        begun(1, 2),
        start,
        end,
        judged(),
        ENDED,
    )
    assert not {span.id for span in cut} & {span.id for span in spans}
    run = spans[-1]
    assert (run.start, run.id) == (1.0, span_of("r1", "run", 1))
    assert [moment.name for moment in run.moments] == ["resumed"]


def test_a_run_that_ended_and_is_resumed_is_told_again_below_the_first() -> None:
    fold = tracing()
    (first,) = told(fold, STARTED, ENDED)
    (second,) = told(fold, STARTED, ENDED, begin=10)
    assert first.id != second.id
    assert second.parent_id == first.id


def test_a_wait_that_was_handed_over_is_no_error() -> None:
    (wait,) = tracing().take_up([(STARTED, 0.0), (PauseBegan("limit", 30.0, "offline"), 1.0)], 50.0)
    assert (wait.name, wait.end, wait.error) == ("wait offline", 30.0, "")


def test_an_end_without_a_beginning_is_told_all_the_same() -> None:
    (run,) = told(tracing(), RunEnded(Outcome.FAILED, "no sandbox", 0, Spend(), 0.0))
    assert (run.name, run.error, run.message) == ("invoke_workflow ralph", "failed", "no sandbox")
    assert told(tracing(), judged(), ActionEnded("git", False)) == []


def test_an_action_that_fails_is_an_error() -> None:
    (action,) = told(tracing(), ActionStarted("git"), ActionEnded("git", False, "no identity"))
    assert (action.name, action.error, action.message) == ("action git", "failed", "no identity")


def test_what_an_agent_never_ends_does_not_fill_the_memory() -> None:
    opened = OpenSession("a" * 16, "", "claude", "iteration", 0.0)
    spans = list(opened.take([ToolStarted(str(n), "Bash") for n in range(MOST_OPEN_TOOLS + 5)], 1.0))
    assert len(spans) == 5
    assert len(opened.tools) == MOST_OPEN_TOOLS


def test_agents_are_named_by_their_program() -> None:
    assert program_of("/opt/bin/claude -p 'x y'") == "claude"
    assert program_of("codex exec") == "codex"
    assert program_of("un'balanced") == ""
    assert program_of("") == ""


def test_a_launch_that_came_to_nothing_takes_no_number_from_a_resumed_run() -> None:
    unbegun = AgentEnded(Ending.NOT_STARTED, None, 0.5, Spend())
    live, later = tracing(), tracing()
    live.release(live.reserve())
    (told_live,) = told(live, unbegun)
    later.take_up([(unbegun, 1.0)], 2.0)
    assert live.reserve() == later.reserve() == 2
    assert told_live.id == span_of("r1", "session", 1)


def test_a_resumed_run_reads_no_prompt_of_earlier_sessions() -> None:
    read: list[IterationStarted] = []

    def prompt_of(event: IterationStarted) -> str:
        read.append(event)
        return "Do it."

    fold = Tracing(RUN, place_of("r1"), content=True, prompt_of=prompt_of)
    start, end = session()
    fold.take_up([(STARTED, 0.0), (begun(), 1.0), (start, 2.0), (end, 3.0), (judged(), 4.0)], 5.0)
    assert read == []
    told(fold, begun(2), *session())
    assert read == [begun(2)]
