"""A session under watch: ended gracefully when the run has used up what it may."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralph.domain.agent.events import (
    AgentEvent,
    BackgroundChanged,
    SessionStarted,
    Text,
    TurnEnded,
    Usage,
    UsageReported,
)
from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.events import AgentEnded, LoopEvent
from ralph.domain.loop.session_report import AgentReport, Ending, Fault, RateLimited, Spend, Transient
from ralph.engine.ports import UNLIMITED, AgentRequest, Command, Exit, Running, StreamParser, Timeouts
from ralph.engine.session import AgentSession

REQUEST = AgentRequest("do it", Path("prompt.txt"), Path("agent.ndjson"), Path("project"))
CLAIM = "<response>DONE</response>"


@dataclass
class Script:
    """A program that prints these batches, each as one event per number; it ends early if told to."""

    batches: Sequence[Sequence[AgentEvent]]
    exit_: Exit = Exit(Ending.EXITED, 0, 2.0)
    told: list[float | None] = field(default_factory=list)
    played: int = 0

    @property
    def pid(self) -> int:
        return 1

    def finish_within(self, seconds: float | None) -> None:
        self.told.append(seconds)

    async def run(
        self,
        command: Command,
        *,
        timeouts: Timeouts = UNLIMITED,
        on_start: Callable[[Running], None] | None = None,
        on_lines: Callable[[list[bytes]], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        log: Path | None = None,
        stop: Awaitable[object] | None = None,
    ) -> Exit:
        assert on_start is not None
        assert on_lines is not None
        on_start(self)
        for number in range(len(self.batches)):
            if 0 in self.told:
                break
            self.played += 1
            on_lines([str(number).encode()])
        return self.exit_


@dataclass
class ScriptAdapter:
    """Parses a line as the batch of that number."""

    script: Script
    fault: Fault | None = None
    name: str = "script"
    notes: tuple[str, ...] = ()
    linger: float | None = 10.0

    def command(self, request: AgentRequest) -> Command:
        return Command(("script",), request.cwd)

    def parser(self, request: AgentRequest) -> StreamParser:
        return self

    def parse(self, lines: Sequence[bytes]) -> list[AgentEvent]:
        return [event for line in lines for event in self.script.batches[int(line)]]

    def finish(self) -> Sequence[AgentEvent]:
        return ()

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | None:
        return self.fault


class Partner(Script):
    """The same, for a conversation: nobody looks at what it hears."""

    def write(self, data: bytes) -> None: ...

    def close_input(self) -> None: ...

    def before_signals(self, words: Callable[[], bytes]) -> None: ...


class ConversingAdapter(ScriptAdapter):
    """Has its answer with the second batch."""

    is_over = False

    def command(self, request: AgentRequest) -> Command:
        return Command(("script",), request.cwd, converses=True)

    def outgoing(self) -> bytes:
        return b""

    def cancellation(self) -> bytes:
        return b""

    @property
    def patience(self) -> float | None:
        return 60.0 if self.script.played < 2 else None


def at_most(tokens: int) -> Callable[[Transcript], str | None]:
    return lambda transcript: "too many tokens" if transcript.usage.total > tokens else None


def run(
    script: Script,
    *,
    watch: Callable[[Transcript], str | None] | None = None,
    fault: Fault | None = None,
    reset_time: Callable[[str], float | None] | None = None,
) -> tuple[AgentReport, list[LoopEvent]]:
    events: list[LoopEvent] = []
    session = AgentSession(
        (ConversingAdapter if isinstance(script, Partner) else ScriptAdapter)(script, fault),
        script,
        tags=("response",),
        show=" ".join,
        watch=watch,
        price=lambda usage, model: usage.total / 100,
        reset_time=reset_time,
    )
    return asyncio.run(session.run(REQUEST, events.append)), events


def test_a_session_that_uses_too_much_is_ended_gracefully_and_says_why() -> None:
    script = Script([[UsageReported(Usage(60))], [UsageReported(Usage(60))], [Text(CLAIM)]])

    report, events = run(script, watch=at_most(100), fault=Transient("ended by SIGINT"))

    assert script.told == [0]
    assert script.played == 2
    assert (report.ending, report.reason, report.fault) == (Ending.LIMITED, "too many tokens", None)
    assert not report.is_orderly
    assert report.spend == Spend(1.2, Usage(120), 2.0)
    assert [event.ending for event in events if isinstance(event, AgentEnded)] == [Ending.LIMITED]


def test_a_session_within_its_limits_is_left_alone() -> None:
    script = Script([[UsageReported(Usage(60))], [Text(CLAIM), TurnEnded(usage=Usage(90))]])

    report, _ = run(script, watch=at_most(100))

    assert script.told == [10.0]
    assert (report.ending, report.reason, report.is_orderly) == (Ending.EXITED, "", True)


def test_a_conversation_must_begin_in_time_and_then_has_its_time() -> None:
    silent, answers = Partner([[Text("hm")]]), Partner([[Text("hm")], [Text("so")], [TurnEnded()]])

    run(silent)
    run(answers)

    assert silent.told == [60.0]
    assert answers.told == [60.0, None, 10.0]


def test_a_turn_that_ends_with_the_limit_still_counts() -> None:
    script = Script([[Text(CLAIM), UsageReported(Usage(500)), TurnEnded(usage=Usage(500))]])

    report, _ = run(script, watch=at_most(100))

    assert (report.ending, report.is_orderly) == (Ending.EXITED, True)
    assert [tag.content for tag in report.tags] == ["DONE"]


def test_a_second_turn_is_watched_again() -> None:
    script = Script([[TurnEnded(usage=Usage(500))], [SessionStarted()], [Text("more")]])

    report, _ = run(script, watch=at_most(100))

    assert script.told == [10.0, None, 0]
    assert report.ending is Ending.LIMITED


def test_what_it_says_on_its_way_out_takes_nothing_back() -> None:
    script = Script([[UsageReported(Usage(200))], [TurnEnded(error="interrupted")], [SessionStarted()]])
    script.told = _Forgetful()

    report, _ = run(script, watch=at_most(100))

    assert script.played == 3
    assert script.told == [0]
    assert report.ending is Ending.LIMITED


class _Forgetful(list[float | None]):
    """Told to end, the program prints on."""

    def __contains__(self, item: object) -> bool:
        return False


def test_the_users_stop_outranks_the_limit() -> None:
    script = Script([[UsageReported(Usage(500))]], Exit(Ending.STOPPED, -2, 1.0))

    report, _ = run(script, watch=at_most(100))

    assert (report.ending, report.reason) == (Ending.STOPPED, "")


def test_a_limit_that_only_words_date_gets_its_time() -> None:
    script = Script([[TurnEnded(error="limit")]])

    dated, _ = run(script, fault=RateLimited("in a minute"), reset_time={"in a minute": 60.0}.get)
    known, _ = run(script, fault=RateLimited("in a minute", 5.0), reset_time={"in a minute": 60.0}.get)

    assert dated.fault == RateLimited("in a minute", 60.0)
    assert known.fault == RateLimited("in a minute", 5.0)


def test_the_report_tells_what_was_denied() -> None:
    report, _ = run(Script([[TurnEnded(denials=("Bash",))]]))

    assert report.denials == ("Bash",)


# --- work in the background --------------------------------------------------------------------------------

BUILD = BackgroundChanged(("build",))
NONE = BackgroundChanged()


def test_work_in_the_background_may_take_its_time_and_begin_another_turn() -> None:
    script = Script([[BUILD], [TurnEnded()], [NONE], [SessionStarted()], [Text(CLAIM), TurnEnded()]])

    report, _ = run(script)

    assert script.told == [10.0, None, 10.0]  # not before it is over
    assert (report.ending, report.is_orderly, report.cut_off) == (Ending.EXITED, True, ())


def test_work_that_is_begun_after_the_turn_lifts_the_limit_again() -> None:
    script = Script([[TurnEnded()], [BUILD], [NONE]])

    report, _ = run(script)

    assert script.told == [10.0, None, 10.0]
    assert report.cut_off == ("build",)


def test_a_turn_that_ended_well_counts_though_what_it_left_running_was_silent_for_too_long() -> None:
    script = Script([[BUILD], [Text(CLAIM), TurnEnded()], [NONE]], Exit(Ending.IDLE, -2, 60.0))

    report, _ = run(script)

    assert (report.ending, report.is_orderly, report.cut_off) == (Ending.EXITED, True, ("build",))


def test_a_turn_under_way_that_is_silent_for_too_long_is_idle() -> None:
    script = Script([[BUILD], [TurnEnded()], [SessionStarted(), Text(CLAIM)]], Exit(Ending.IDLE, -2, 60.0))

    report, _ = run(script)

    assert (report.ending, report.is_orderly) == (Ending.IDLE, False)


def test_a_limit_of_the_run_ends_what_a_turn_left_running_and_counts_the_turn() -> None:
    script = Script([[BUILD], [Text(CLAIM), TurnEnded(usage=Usage(500))], [NONE]])

    report, _ = run(script, watch=at_most(100))

    assert (script.told, script.played) == ([0], 2)
    assert (report.ending, report.is_orderly, report.cut_off) == (Ending.EXITED, True, ("build",))
