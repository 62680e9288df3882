from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC

import pytest

from ralph.domain.agent.events import Text, ToolStarted
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    ActionStarted,
    AgentActed,
    AgentEnded,
    AgentStarted,
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    PauseBegan,
    RunEnded,
    RunPaused,
    RunUnpaused,
    StopRequested,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.console.status_line import ERASE, StatusLine
from ralph.interfaces.cli.terminal import Look, display_width

LIVE = Look(max_lines=5, max_chars=1000, live=True)
START = 1_700_000_000.0  # 22:13:20 UTC


class FakeClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> float:
        return self.time


class Terminal:
    """A status line, the clock it reads and the screen it writes to."""

    def __init__(self, look: Look = LIVE, width: int = 200) -> None:
        self.err = io.StringIO()
        self.clock = FakeClock()
        self.width = width
        self.status = StatusLine(self.err, look, now=self.clock.now, width=lambda: self.width, zone=UTC)

    def written(self) -> str:
        text = self.err.getvalue()
        self.err.seek(0)
        self.err.truncate()
        return text

    def start_agent(self) -> None:
        self.status.observe(IterationStarted(2, 1, 10, "prompt"), START)
        self.status.observe(AgentStarted("claude", 1), START)


def test_silence_of_the_agent_is_told() -> None:
    terminal = Terminal()
    terminal.start_agent()
    tools = tuple(ToolStarted(str(number), "Read") for number in range(12))
    terminal.status.observe(AgentEnded("exited", 0, 1, Spend(0.42)), START)
    terminal.status.observe(AgentStarted("claude", 1), START)
    terminal.status.observe(AgentActed(tools), START + 178)
    terminal.clock.time = START + 192
    terminal.status.tick()
    assert terminal.written() == (
        ERASE + "⏳ iteration 2/10 · 3m12s · last activity 14s ago · 12 tools · $0.42"
    )


def test_ascii_and_color_looks() -> None:
    terminal = Terminal(replace(LIVE, emoji=False, color=True))
    terminal.start_agent()
    terminal.status.tick()
    assert terminal.written() == f"{ERASE}\x1b[2m[WAIT] iteration 2/10 - 0s - last activity 0s ago\x1b[0m"


def test_it_is_redrawn_in_place_only_when_it_changed() -> None:
    terminal = Terminal()
    terminal.start_agent()
    terminal.status.tick()
    assert terminal.written()
    terminal.clock.time += 0.5
    terminal.status.tick()
    assert terminal.written() == ""
    terminal.clock.time += 0.5
    terminal.status.tick()
    assert terminal.written() == ERASE + "⏳ iteration 2/10 · 1s · last activity 1s ago"


def test_it_is_erased_before_other_output_and_comes_back_after_a_quiet_tick() -> None:
    terminal = Terminal()
    terminal.start_agent()
    terminal.status.tick()
    terminal.written()
    terminal.status.clear()
    terminal.status.clear()
    assert terminal.written() == ERASE
    terminal.status.tick()
    assert terminal.written() == ""
    terminal.status.tick()
    assert terminal.written().startswith(ERASE + "⏳")


def test_a_flood_never_touches_it() -> None:
    terminal = Terminal()
    terminal.start_agent()
    for _ in range(1000):
        terminal.status.observe(AgentActed((Text("x"),)), START)
        terminal.status.clear()
    terminal.status.tick()
    assert terminal.written() == ""


def test_nothing_is_drawn_where_nobody_watches() -> None:
    terminal = Terminal(replace(LIVE, live=False))
    terminal.start_agent()
    terminal.status.tick()
    terminal.status.clear()
    assert terminal.written() == ""


def test_nothing_is_drawn_before_an_iteration_and_after_the_run() -> None:
    terminal = Terminal()
    terminal.status.tick()
    assert terminal.written() == ""
    terminal.start_agent()
    terminal.status.observe(RunEnded(Outcome.COMPLETED, "", 1, Spend(), 1), START)
    terminal.status.tick()
    assert terminal.written() == ""


def test_checks_actions_and_pauses_are_told() -> None:
    terminal = Terminal()
    status = terminal.status
    status.observe(IterationStarted(3, 1, None, "prompt"), START)
    status.observe(CheckStarted("make test", "make test"), START + 60)
    terminal.clock.time = START + 72
    assert status.text() == "⏳ iteration 3 · 12s · guardrail make test"
    status.observe(CheckEnded(CheckResult("make test", Verdict.PASSED)), START + 72)
    assert status.text() == "⏳ iteration 3 · 1m12s"
    status.observe(CheckStarted("unit tests", "make test"), START + 72)
    assert status.text() == "⏳ iteration 3 · 0s · guardrail unit tests"
    status.observe(CheckStarted("string match"), START + 72)
    assert status.text() == "⏳ iteration 3 · 0s · check string match"
    status.observe(ActionStarted("scm"), START + 72)
    assert status.text() == "⏳ iteration 3 · 0s · scm"
    status.observe(AgentStarted("claude", 1, purpose="commit message"), START + 72)
    assert status.text() == "⏳ iteration 3 · 0s · commit message · last activity 0s ago"
    status.observe(PauseBegan("rate\nlimited", START + 372), START + 72)
    assert status.text() == "⏳ waiting until 22:19:32 · 5m0s left · rate limited"


def test_a_pause_of_the_users_is_told_from_the_end_of_the_session_until_it_is_over() -> None:
    terminal = Terminal()
    terminal.start_agent()
    status = terminal.status
    status.observe(RunPaused(), START)
    assert status.text() == "⏳ iteration 2/10 · 0s · pausing after this session · last activity 0s ago"
    over = IterationEnded(2, 1, "continue", "no", claimed=False, proven=False, spend=Spend(), seconds=1)
    status.observe(over, START + 60)
    terminal.clock.time = START + 72
    assert status.text() == "⏳ paused 12s · to continue: `ralph unpause`"
    status.observe(StopRequested(now=False), START + 72)
    assert status.text().startswith("⏳ stopping after this step · paused 12s")
    status.observe(RunUnpaused(), START + 72)
    assert "paused" not in status.text()
    status.observe(PauseBegan("rate limited", START + 90), START + 72)
    status.observe(RunPaused(), START + 72)
    assert "waiting until 22:14:50" in status.text()
    terminal.clock.time = START + 100
    assert "paused" in status.text()


def test_a_requested_stop_is_told_until_it_has_happened() -> None:
    terminal = Terminal()
    terminal.start_agent()
    status = terminal.status
    status.observe(StopRequested(now=False), START)
    assert status.text() == "⏳ stopping after this step · iteration 2/10 · 0s · last activity 0s ago"
    status.observe(CheckStarted("make", "make"), START)
    assert status.text() == "⏳ stopping after this step · iteration 2/10 · 0s · guardrail make"
    status.observe(StopRequested(now=True), START)
    assert status.text() == "⏳ stopping now · iteration 2/10 · 0s · guardrail make"
    status.observe(RunEnded(Outcome.CANCELLED, "", 1, Spend(), 1), START)
    assert status.text() == ""


@pytest.mark.parametrize("width", [1, 2, 5, 10, 20, 40, 41])
@pytest.mark.parametrize("emoji", [True, False])
def test_it_is_never_as_wide_as_the_terminal(width: int, emoji: bool) -> None:
    terminal = Terminal(replace(LIVE, emoji=emoji), width)
    terminal.status.observe(IterationStarted(2, 1, 10, "prompt"), START)
    terminal.status.observe(CheckStarted("日本語のテスト", "日本語のテスト"), START)
    terminal.status.tick()
    drawn = terminal.written().removeprefix(ERASE)
    assert display_width(drawn) <= width - 1
    if width == 40:
        assert drawn.endswith("…" if emoji else "...")


def test_it_follows_a_resized_window() -> None:
    terminal = Terminal(width=100)
    terminal.start_agent()
    terminal.status.tick()
    terminal.written()
    terminal.width = 12
    terminal.status.tick()
    assert terminal.written() == ERASE + "⏳ iterati…"


def test_a_clock_that_was_set_back_shows_no_negative_time() -> None:
    terminal = Terminal()
    terminal.start_agent()
    terminal.clock.time = START - 500
    assert terminal.status.text() == "⏳ iteration 2/10 · 0s · last activity 0s ago"


def test_console_and_status_line_share_the_screen() -> None:
    screen = io.StringIO()
    clock = FakeClock()
    status = StatusLine(screen, LIVE, now=clock.now, width=lambda: 80, zone=UTC)
    console = Console(screen, screen, LIVE, verbose=False, stream_agent_output=True, status=status, zone=UTC)
    console(IterationStarted(1, 1, 3, "prompt"), START)
    console(AgentStarted("claude", 1), START)
    status.tick()  # disturbed by the header
    status.tick()
    console(AgentActed((Text("half a li", final=False),)), START)
    status.tick()
    status.tick()  # would erase the half line
    console(AgentActed((Text("ne"),)), START)
    status.tick()
    status.tick()
    console(CheckStarted("make", "make"), START)
    lines = screen.getvalue().split("\n")
    assert lines[2:] == [
        f"{ERASE}⏳ iteration 1/3 · 0s · last activity 0s ago{ERASE}half a line",
        f"{ERASE}⏳ iteration 1/3 · 0s · last activity 0s ago{ERASE}▶ Guardrail: make",
        "",
    ]


def test_a_line_left_open_by_the_agent_does_not_hold_the_status_line_for_ever() -> None:
    screen = io.StringIO()
    status = StatusLine(screen, LIVE, now=FakeClock().now, width=lambda: 80, zone=UTC)
    console = Console(screen, screen, LIVE, verbose=False, stream_agent_output=True, status=status, zone=UTC)
    console(IterationStarted(1, 1, 3, "prompt"), START)
    console(AgentActed((Text("no newline", final=False),)), START)
    console(AgentEnded("exited", 0, 1, Spend()), START)
    status.tick()
    status.tick()
    assert "no newline\n" in screen.getvalue()
    assert screen.getvalue().endswith(ERASE + "⏳ iteration 1/3 · 0s")
