from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    Notice,
    Text,
    ToolEnded,
    ToolStarted,
    TurnEnded,
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
    ClaimsSought,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    PauseBegan,
    ProcessesEnded,
    RunEnded,
    RunStarted,
    StopRequested,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.session_report import Fatal, RateLimited, Spend, Transient
from ralph.domain.proof.policy import ProofPolicy
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.terminal import Look, display_width

PLAIN = Look(max_lines=5, max_chars=1000)
AT = 1_700_000_000.0  # 22:13:20 UTC
SPEND = Spend(5.76, Usage(340_000, 45_000, 850_000, 10_000), 367.0)
LOG = ".ralph/guardrail_001_make_test.log"


def told(
    *events: LoopEvent,
    look: Look | None = None,
    verbose: bool = False,
    stream: bool = True,
    json_lines: bool = False,
) -> tuple[str, str]:
    """What stands on stdout and on stderr after the events."""
    out, err = io.StringIO(), io.StringIO()
    console = Console(
        out,
        err,
        look or PLAIN,
        verbose=verbose,
        stream_agent_output=stream,
        json_lines=json_lines,
        zone=UTC,
    )
    for event in events:
        console(event, AT)
    return out.getvalue(), err.getvalue()


def check(verdict: Verdict, **facts: object) -> CheckEnded:
    values: dict[str, object] = {"command": "make test", "exit_code": 1, "seconds": 1.2, **facts}
    return CheckEnded(CheckResult("make test", verdict, **values))  # type: ignore[arg-type]


GOLDEN = [
    pytest.param(
        RunStarted("r1", "basic", "claude", "/project", 10, ("permissions are skipped",)),
        "ralph run r1\nprofile basic · agent claude · at most 10 iterations\nroot /project\n⚠ permissions are skipped\n",
        "ralph run r1\nprofile basic - agent claude - at most 10 iterations\nroot /project\n[WARN] permissions are skipped\n",
        id="run started",
    ),
    pytest.param(
        RunStarted("r1", "basic", "claude", "/project"),
        "ralph run r1\nprofile basic · agent claude · no limit on iterations\nroot /project\n",
        "ralph run r1\nprofile basic - agent claude - no limit on iterations\nroot /project\n",
        id="run without a limit",
    ),
    pytest.param(
        RunStarted(
            "r1", "basic", "claude", "/", 1, proof=ProofPolicy("guarded", "locked", ("a/**", "b.ini"))
        ),
        "ralph run r1\nprofile basic · agent claude · at most 1 iteration\nroot /\n"
        "proof guarded, tests locked, may change a/**, b.ini\n",
        "ralph run r1\nprofile basic - agent claude - at most 1 iteration\nroot /\n"
        "proof guarded, tests locked, may change a/**, b.ini\n",
        id="how claims are proven",
    ),
    pytest.param(
        RunStarted("r1", "basic", "claude", "/", 1, proof=ProofPolicy("trusting", "locked")),
        "ralph run r1\nprofile basic · agent claude · at most 1 iteration\nroot /\nproof trusting: your commands alone\n",
        "ralph run r1\nprofile basic - agent claude - at most 1 iteration\nroot /\nproof trusting: your commands alone\n",
        id="claims are not proven further",
    ),
    pytest.param(
        ProcessesEnded(("sleep 9 (7)", "node (8)")),
        "⚠ Ended 2 processes left behind: sleep 9 (7), node (8)\n",
        "[WARN] Ended 2 processes left behind: sleep 9 (7), node (8)\n",
        id="processes ended",
    ),
    pytest.param(
        CheckStarted("make test", "make test"),
        "▶ Guardrail: make test\n",
        "[RUN] Guardrail: make test\n",
        id="guardrail started",
    ),
    pytest.param(
        CheckStarted("unit tests", "make test"),
        "▶ Guardrail: unit tests\n",
        "[RUN] Guardrail: unit tests\n",
        id="named guardrail started",
    ),
    pytest.param(
        CheckStarted("semantic"),
        "▶ Verification: semantic\n",
        "[RUN] Verification: semantic\n",
        id="check started",
    ),
    pytest.param(
        check(Verdict.PASSED, exit_code=0),
        "✅ Guardrail passed: make test (1.2s)\n",
        "[OK] Guardrail passed: make test (1.2s)\n",
        id="guardrail passed",
    ),
    pytest.param(
        CheckEnded(CheckResult("unit tests", Verdict.PASSED, command="make test", exit_code=0, seconds=1.2)),
        "✅ Guardrail passed: unit tests (1.2s)\n",
        "[OK] Guardrail passed: unit tests (1.2s)\n",
        id="named guardrail passed",
    ),
    pytest.param(
        check(Verdict.FAILED, feedback=Feedback("x"), log_file=LOG, last_lines=("E  assert 1", "1 failed")),
        "❌ Guardrail failed: make test (exit 1, 1.2s) → its output goes into the next prompt (APPEND)\n"
        f"  ⎿  E  assert 1\n     1 failed\n   log: {LOG}\n",
        "[ERR] Guardrail failed: make test (exit 1, 1.2s) -> its output goes into the next prompt (APPEND)\n"
        f"  |_  E  assert 1\n      1 failed\n   log: {LOG}\n",
        id="guardrail failed",
    ),
    pytest.param(
        check(Verdict.FAILED, feedback=Feedback("x", Placement.PREPEND), log_file=LOG),
        "❌ Guardrail failed: make test (exit 1, 1.2s) → its output goes into the next prompt (PREPEND)\n"
        f"   log: {LOG}\n",
        "[ERR] Guardrail failed: make test (exit 1, 1.2s) -> its output goes into the next prompt (PREPEND)\n"
        f"   log: {LOG}\n",
        id="guardrail failed in silence",
    ),
    pytest.param(
        check(Verdict.FAILED, exit_code=124, reason="ended after 1 s: it ran out of time"),
        "❌ Guardrail failed: make test (exit 124: ended after 1 s: it ran out of time)\n",
        "[ERR] Guardrail failed: make test (exit 124: ended after 1 s: it ran out of time)\n",
        id="guardrail out of time",
    ),
    pytest.param(
        check(Verdict.FAILED, command="", exit_code=None, reason="T-1 unchanged", feedback=Feedback("x")),
        "❌ Check failed: make test (T-1 unchanged, 1.2s) → its message goes into the next prompt (APPEND)\n",
        "[ERR] Check failed: make test (T-1 unchanged, 1.2s) -> its message goes into the next prompt (APPEND)\n",
        id="check failed",
    ),
    pytest.param(
        CheckEnded(CheckResult("old proof", Verdict.FAILED, command="make test", exit_code=1, seconds=1.2)),
        "❌ Check failed: old proof (exit 1, 1.2s)\n",
        "[ERR] Check failed: old proof (exit 1, 1.2s)\n",
        id="layer of proof failed",
    ),
    pytest.param(
        check(Verdict.ERRORED, exit_code=None, reason="timed out", feedback=Feedback("x", Placement.REPLACE)),
        "❌ Guardrail not judged: make test (timed out, 1.2s) → its output replaces the next prompt (REPLACE)\n",
        "[ERR] Guardrail not judged: make test (timed out, 1.2s) -> its output replaces the next prompt (REPLACE)\n",
        id="guardrail errored",
    ),
    pytest.param(
        CheckEnded(CheckResult("clean checkout", Verdict.ERRORED, seconds=1.2, reason="it was stopped")),
        "❌ Check not judged: clean checkout (it was stopped, 1.2s)\n",
        "[ERR] Check not judged: clean checkout (it was stopped, 1.2s)\n",
        id="layer of proof stopped",
    ),
    pytest.param(
        CheckEnded(CheckResult("old proof", Verdict.SKIPPED, required=False, reason="nothing to put back")),
        "",
        "",
        id="layer of proof skipped",
    ),
    pytest.param(
        CheckEnded(CheckResult("canary at the start", Verdict.SKIPPED, required=False, reason="no tests")),
        "Check skipped: planted failing test, at the start (no tests)\n",
        "Check skipped: planted failing test, at the start (no tests)\n",
        id="canary at the start skipped",
    ),
    pytest.param(
        CheckEnded(
            CheckResult(
                "tests review",
                Verdict.FAILED,
                reason="nobody demands it: test_a.py: gone; test_b.py: gone",
                last_lines=("test_a.py: gone", "test_b.py: gone", "allow it"),
            )
        ),
        "❌ Check failed: tests review (nobody demands it, 0.0s)\n"
        "  ⎿  test_a.py: gone\n     test_b.py: gone\n     allow it\n",
        "[ERR] Check failed: tests review (nobody demands it, 0.0s)\n"
        "  |_  test_a.py: gone\n      test_b.py: gone\n      allow it\n",
        id="reason and lines of a denial",
    ),
    pytest.param(
        check(Verdict.FAILED, required=False),
        "⚠ Guardrail failed: make test (exit 1, 1.2s) (not required)\n",
        "[WARN] Guardrail failed: make test (exit 1, 1.2s) (not required)\n",
        id="optional guardrail failed",
    ),
    pytest.param(
        check(Verdict.SKIPPED, command="", required=False, reason="no specification"),
        "Check skipped: make test (no specification)\n",
        "Check skipped: make test (no specification)\n",
        id="check skipped",
    ),
    pytest.param(ClaimsSought(("done (tag response)",)), "", "", id="claims sought"),
    pytest.param(ActionStarted("scm"), "▶ Action: scm\n", "[RUN] Action: scm\n", id="action started"),
    pytest.param(
        ActionEnded("scm", True, "committed 1a2b", 0.8),
        "✅ Action done: scm: committed 1a2b (0.8s)\n",
        "[OK] Action done: scm: committed 1a2b (0.8s)\n",
        id="action done",
    ),
    pytest.param(
        ActionEnded("scm", False, "no message", 0.8),
        "❌ Action failed: scm: no message (0.8s)\n",
        "[ERR] Action failed: scm: no message (0.8s)\n",
        id="action failed",
    ),
    pytest.param(
        IterationEnded(1, 1, "accept", "claimed by tag response", True, True, SPEND, 2),
        "✅ Accepted: claimed by tag response\n",
        "[OK] Accepted: claimed by tag response\n",
        id="accepted",
    ),
    pytest.param(
        IterationEnded(1, 1, "continue", "failing: make test", False, False, SPEND, 2),
        "🔄 Not done yet: failing: make test\n",
        "[NEXT] Not done yet: failing: make test\n",
        id="continued",
    ),
    pytest.param(
        IterationEnded(1, 1, "retry", "overloaded", False, False, SPEND, 2),
        "🔄 Trying again: overloaded\n",
        "[NEXT] Trying again: overloaded\n",
        id="retried",
    ),
    pytest.param(
        IterationEnded(1, 1, "giveup", "rejected", False, False, SPEND, 2),
        "❌ Given up: rejected\n",
        "[ERR] Given up: rejected\n",
        id="given up",
    ),
    pytest.param(
        IterationEnded(1, 1, "stop", "stopped by the user", False, False, SPEND, 2),
        "",
        "",
        id="stopped: the end says why",
    ),
    pytest.param(
        PauseBegan("rate limited", AT + 300),
        "⏳ Waiting 5m0s, until 22:18:20: rate limited\n",
        "[WAIT] Waiting 5m0s, until 22:18:20: rate limited\n",
        id="pause",
    ),
    pytest.param(
        PauseBegan("rate limited", AT + 7200),
        "⏳ Waiting 2h0m0s, until 2023-11-15 00:13:20: rate limited\n",
        "[WAIT] Waiting 2h0m0s, until 2023-11-15 00:13:20: rate limited\n",
        id="pause over midnight",
    ),
    pytest.param(
        StopRequested(False),
        "Received signal, shutting down...\n"
        "   The current step finishes first; press Ctrl-C again to end it now.\n",
        "Received signal, shutting down...\n"
        "   The current step finishes first; press Ctrl-C again to end it now.\n",
        id="stop",
    ),
    pytest.param(
        StopRequested(False, elsewhere=True),
        "Stopping, as asked from elsewhere...\n"
        "   The current step finishes first; Ctrl-C here, or `ralph stop --now`, ends it now.\n",
        "Stopping, as asked from elsewhere...\n"
        "   The current step finishes first; Ctrl-C here, or `ralph stop --now`, ends it now.\n",
        id="stop from elsewhere",
    ),
    pytest.param(
        StopRequested(True),
        "Second signal: ending the agent now...\n",
        "Second signal: ending the agent now...\n",
        id="stop now",
    ),
    pytest.param(Warned("careful"), "⚠ careful\n", "[WARN] careful\n", id="warning"),
    pytest.param(
        RunEnded(Outcome.COMPLETED, "work is done", 3, SPEND, 367),
        "\n✅ Completed: work is done\n"
        "   iterations: 3, cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, time: 6m7s\n",
        "\n[OK] Completed: work is done\n"
        "   iterations: 3, cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, time: 6m7s\n",
        id="completed",
    ),
    pytest.param(
        RunEnded(Outcome.COMPLETED, "done", 1, Spend(), 1, ("weak proof",), "look\nagain"),
        "\n✅ Completed, with 1 warning: done\n   iterations: 1, time: 1.0s\n   ⚠ weak proof\n   hint: look\n   again\n",
        "\n[OK] Completed, with 1 warning: done\n   iterations: 1, time: 1.0s\n   [WARN] weak proof\n   hint: look\n   again\n",
        id="completed with concerns",
    ),
    pytest.param(
        RunEnded(Outcome.EXHAUSTED, "maximum iterations reached (3)", 3, Spend(), 1),
        "\n❌ Not completed: maximum iterations reached (3)\n   iterations: 3, time: 1.0s\n",
        "\n[ERR] Not completed: maximum iterations reached (3)\n   iterations: 3, time: 1.0s\n",
        id="exhausted",
    ),
    pytest.param(
        RunEnded(Outcome.WAITING, "blocked", 0, Spend(), 1),
        "\n⏳ Waiting: blocked\n   iterations: 0, time: 1.0s\n",
        "\n[WAIT] Waiting: blocked\n   iterations: 0, time: 1.0s\n",
        id="waiting",
    ),
    pytest.param(
        RunEnded(Outcome.CANCELLED, "stopped by the user", 0, Spend(), 1),
        "\n⏹ Cancelled: stopped by the user\n   iterations: 0, time: 1.0s\n",
        "\n[STOP] Cancelled: stopped by the user\n   iterations: 0, time: 1.0s\n",
        id="cancelled",
    ),
    pytest.param(
        RunEnded(Outcome.FAILED, "not logged in", 0, Spend(), 1, (), "run claude login"),
        "",
        "",
        id="failed before it began: the error says it",
    ),
    pytest.param(
        AgentEnded("exited", 0, 12.3, Spend()),
        "📊 Session ended (time: 12.3s)\n",
        "Session ended (time: 12.3s)\n",
        id="agent finished",
    ),
    pytest.param(
        AgentEnded("exited", 3, 12.3, Spend(), 2, 1, stderr="one\n\x1b[31mtwo\x1b[0m\n"),
        "⚠ Agent exited with code 3 (tools: 2, errors: 1, time: 12.3s)\n   one\n   two\n",
        "[WARN] Agent exited with code 3 (tools: 2, errors: 1, time: 12.3s)\n   one\n   two\n",
        id="agent exited with an error",
    ),
    pytest.param(
        AgentEnded("idle", -9, 1800, Spend()),
        "⚠ Agent went silent and was ended (time: 30m0s)\n",
        "[WARN] Agent went silent and was ended (time: 30m0s)\n",
        id="agent silent",
    ),
    pytest.param(
        AgentEnded("exited", 1, 2, Spend(), fault=Transient("network")),
        "⚠ Agent failed: network (2.0s)\n",
        "[WARN] Agent failed: network (2.0s)\n",
        id="passing fault",
    ),
    pytest.param(
        AgentEnded("exited", 1, 2, Spend(), fault=RateLimited("5 hour limit", AT + 60)),
        "⚠ Agent is rate limited until 22:14:20: 5 hour limit\n",
        "[WARN] Agent is rate limited until 22:14:20: 5 hour limit\n",
        id="rate limited",
    ),
    pytest.param(
        AgentEnded("not_started", None, 0, Spend(), fault=Fatal("claude not found", "install it")),
        "❌ Agent failed: claude not found (0.0s)\n",
        "[ERR] Agent failed: claude not found (0.0s)\n",
        id="fatal fault",
    ),
    pytest.param(
        AgentStarted("claude -p", 1, purpose="commit"),
        "asking the agent for a commit message\n",
        "asking the agent for a commit message\n",
        id="asked for a commit message",
    ),
    pytest.param(
        AgentStarted("claude -p", 1, purpose="verification"),
        "asking the judge\n",
        "asking the judge\n",
        id="asked for something else",
    ),
]


@pytest.mark.parametrize(("event", "emoji", "ascii_"), GOLDEN)
def test_each_event_has_its_lines_on_stderr(event: LoopEvent, emoji: str, ascii_: str) -> None:
    assert told(event) == ("", emoji)
    assert told(event, look=replace(PLAIN, emoji=False)) == ("", ascii_)
    assert ascii_.isascii()


@pytest.mark.parametrize(("event", "emoji", "ascii_"), GOLDEN)
@pytest.mark.parametrize("emoji_on", [True, False])
def test_color_adds_nothing_but_color(event: LoopEvent, emoji: str, ascii_: str, emoji_on: bool) -> None:
    _, err = told(event, look=replace(PLAIN, emoji=emoji_on, color=True))
    assert re.sub(r"\x1b\[\d+m", "", err) == (emoji if emoji_on else ascii_)
    assert err.count("\x1b[") == 2 * err.count("\x1b[0m")
    if err and not isinstance(event, StopRequested):
        assert "\x1b[" in err


@pytest.mark.parametrize(
    ("event", "title"),
    [
        (IterationStarted(1, 1, 10, "prompt"), "── Iteration 1/10 ──"),
        (IterationStarted(3, 1, None, "prompt"), "── Iteration 3 ──"),
        (IterationStarted(2, 3, 10, "T-12", role="coder"), "── Iteration 2/10 · coder · T-12 (attempt 3) ──"),
    ],
)
def test_an_iteration_has_a_header(event: IterationStarted, title: str) -> None:
    _, err = told(event)
    assert err.startswith("\n" + title)
    assert len(err) == 1 + 72 + 1


@pytest.mark.parametrize("width", [1, 2, 10, 20, 40, 80, 200])
@pytest.mark.parametrize("timestamps", [True, False])
def test_the_header_is_never_wider_than_the_terminal(width: int, timestamps: bool) -> None:
    event = IterationStarted(2, 3, 10, "日本語", role="coder")
    _, err = told(event, look=replace(PLAIN, width=width, timestamps=timestamps))
    longest = max(display_width(line) for line in err.splitlines())
    assert longest <= max(width, 12 if timestamps else 1)


VERBOSE = [
    (IterationStarted(1, 1, 10, "prompt"), "[ralph] Iteration 1/10 starting"),
    (
        IterationStarted(1, 1, 10, "prompt", prompt="Do\nit " + "x" * 194, prompt_chars=306),
        "[ralph] Prompt (first 200 chars): Do it " + "x" * 194,
    ),
    (IterationStarted(1, 1, 10, "prompt", prompt="Do it", prompt_chars=5), "[ralph] Prompt: Do it"),
    (
        IterationStarted(1, 1, 10, "prompt", prompt="x", prompt_chars=306, prompt_file="p.txt"),
        "[ralph] Prompt file: p.txt (306 chars)",
    ),
    (AgentStarted("claude -p --model opus", 1), "[ralph] Agent command: claude -p --model opus"),
    (
        AgentStarted("claude -p", 1, purpose="commit message"),
        "[ralph] Agent command (commit message): claude -p",
    ),
    (AgentEnded("exited", 0, 12.3, Spend()), "[ralph] Agent exited with code 0 (12.3s)"),
    (
        AgentEnded("exited", 0, 12.3, Spend(), noise_lines=2, unknown_events=1),
        "[ralph] Agent output: 2 lines of noise, 1 event of unknown type",
    ),
    (
        CheckStarted("./mvnw clean install", "./mvnw clean install"),
        "[ralph] Running guardrail: ./mvnw clean install",
    ),
    (check(Verdict.PASSED, exit_code=0), "[ralph] Guardrail exited with code 0 (1.2s)"),
    (check(Verdict.ERRORED, exit_code=None), "[ralph] Guardrail errored without an exit code (1.2s)"),
    (ClaimsSought(()), "[ralph] Completion detection: no claim found"),
    (ClaimsSought(("done (tag response)",)), "[ralph] Completion detection: done (tag response)"),
    (ActionStarted("scm"), "[ralph] Running action: scm"),
    (ActionEnded("scm", True, "", 0.8), "[ralph] Action scm took 0.8s"),
    (
        IterationEnded(1, 1, "accept", "x", True, False, SPEND, 2),
        "[ralph] Iteration 1 took 2.0s (claimed: yes, proven: no)",
    ),
]


@pytest.mark.parametrize(("event", "line"), VERBOSE)
def test_every_verbose_line_has_its_documented_form(event: LoopEvent, line: str) -> None:
    assert line in told(event, verbose=True)[1].splitlines()
    assert "[ralph]" not in told(event)[1]


def test_only_the_end_of_a_checks_output_is_shown_and_no_line_is_endless() -> None:
    numbers = tuple(str(number) for number in range(8))
    _, err = told(check(Verdict.FAILED, last_lines=(*numbers, "x" * 10_000)))
    assert err.splitlines()[1:] == ["  ⎿  4", "     5", "     6", "     7", "     " + "x" * 500]


def test_a_checks_output_cannot_imitate_more_lines_or_escape() -> None:
    lines = ("\x1b[2J\x1b[31mred\x1b[0m", "1%\r2%\r3%\r4%\r5%\r6%", "")
    _, err = told(check(Verdict.FAILED, last_lines=lines))
    assert err.splitlines()[1:] == ["  ⎿  2%", "     3%", "     4%", "     5%", "     6%"]
    assert len(told(check(Verdict.FAILED, last_lines=("", "\x1b[0m")))[1].splitlines()) == 1


def iteration_ended(decision: str, reason: str) -> IterationEnded:
    return IterationEnded(1, 1, decision, reason, False, False, Spend(), 2)


def agent_failed(reason: str, stderr: str = "") -> AgentEnded:
    return AgentEnded("exited", 1, 2, Spend(), fault=Transient(reason), stderr=stderr)


def test_the_reason_of_a_fault_is_read_once() -> None:
    reason = "overloaded: try later"
    _, err = told(
        agent_failed(reason, "overloaded: try later\n"),
        iteration_ended("retry", reason),
        PauseBegan(reason, AT + 5),
    )
    assert err == (
        "⚠ Agent failed: overloaded: try later (2.0s)\n🔄 Trying again\n⏳ Waiting 5.0s, until 22:13:25\n"
    )


@pytest.mark.parametrize(
    ("stderr", "shown"),
    [
        ("HTTP 529\n", []),
        ("\n\x1b[31m  HTTP 529\x1b[0m \n\n", []),
        ("HTTP 529 and more\n", ["   HTTP 529 and more"]),
        ("HTTP 529\nHTTP 529\n", ["   HTTP 529", "   HTTP 529"]),
    ],
    ids=["the same", "the same but for its looks", "more than the reason", "two lines"],
)
def test_an_stderr_that_the_reason_quotes_is_left_out(stderr: str, shown: list[str]) -> None:
    _, err = told(agent_failed("API error: HTTP 529", stderr))
    assert err.splitlines()[1:] == shown


def test_a_reason_that_is_news_is_told() -> None:
    _, err = told(
        agent_failed("overloaded"),
        iteration_ended("retry", "overloaded (attempt 4 of 4)"),
        PauseBegan("delay between iterations", AT + 5),
        AgentEnded("exited", 1, 2, Spend()),
        iteration_ended("retry", "overloaded"),
    )
    assert [line for line in err.splitlines() if "Agent" not in line] == [
        "🔄 Trying again: overloaded (attempt 4 of 4)",
        "⏳ Waiting 5.0s, until 22:13:25: delay between iterations",
        "🔄 Trying again: overloaded",
    ]


@pytest.mark.parametrize(
    ("concerns", "reason", "title"),
    [
        ((), "claimed, 1 check passed", "✅ Completed"),
        (("weak proof",), "claimed, 1 check passed", "✅ Completed, with 1 warning"),
        ((), "all tasks are done", "✅ Completed: all tasks are done"),
    ],
)
def test_the_reason_of_the_last_acceptance_is_not_repeated_at_the_end(
    concerns: tuple[str, ...], reason: str, title: str
) -> None:
    _, err = told(
        iteration_ended("accept", "claimed, 1 check passed"),
        RunEnded(Outcome.COMPLETED, reason, 1, Spend(), 1, concerns),
    )
    assert err.splitlines()[:3] == ["✅ Accepted: claimed, 1 check passed", "", title]


SESSION = (
    AgentStarted("claude", 1),
    AgentActed((Text("Hello."), ToolStarted("1", "Read", "a"), ToolEnded("1"))),
    AgentActed((TurnEnded(cost_usd=0.5, seconds=1),)),
    AgentEnded("exited", 0, 1.5, Spend(0.5), 1, 0),
    CheckStarted("make", "make"),
)


def test_the_agents_words_go_to_stdout_and_the_harness_talks_on_stderr() -> None:
    out, err = told(*SESSION)
    assert out == (
        "Hello.\n⏺ Read(a)\n✅ Result ← Read (no output)\n\n"
        "📊 Session ended (cost: $0.50, tools: 1, errors: 0, time: 1.0s)\n"
    )
    assert err == "▶ Guardrail: make\n"


@pytest.mark.parametrize(("stream", "json_lines"), [(False, False), (True, True)])
def test_an_agent_that_is_not_streamed_is_summed_up(stream: bool, json_lines: bool) -> None:
    out, err = told(*SESSION, stream=stream, json_lines=json_lines)
    assert out == ""
    assert err == "📊 Session ended (cost: $0.50, tools: 1, errors: 0, time: 1.5s)\n▶ Guardrail: make\n"


@pytest.mark.parametrize(("verbose", "words"), [(False, ""), (True, "<tests-1>{}</tests-1>\n")])
def test_the_answer_of_a_judge_is_told_by_its_check(verbose: bool, words: str) -> None:
    answer = AgentActed((Text("<tests-1>{}</tests-1>"),))
    judge = AgentStarted("claude", 1, purpose="verification")
    assert told(judge, answer, verbose=verbose)[0] == words
    assert told(judge, answer, AgentStarted("claude", 1), AgentActed((Text("Hello."),)))[0] == "Hello.\n"


def test_a_judge_that_is_asked_again_is_told_apart() -> None:
    asking = AgentStarted("claude -p", 7, "verification")
    _, said = told(CheckStarted("tests review"), asking, asking, CheckStarted("semantic"), asking)
    assert said == (
        "asking the judge: tests review\nasking the judge again: tests review\n"
        "▶ Verification: semantic\nasking the judge\n"
    )


@pytest.mark.parametrize(
    ("strength", "outcome", "note"),
    [
        ("trusting", Outcome.COMPLETED, "   ⚠ proven by your commands alone, in the working folder\n"),
        ("trusting", Outcome.FAILED, ""),
        ("guarded", Outcome.COMPLETED, ""),
    ],
)
def test_a_run_that_was_trusted_does_not_look_proven(strength: str, outcome: Outcome, note: str) -> None:
    start = RunStarted("r1", "basic", "claude", "/", 1, proof=ProofPolicy(strength, "reviewed"))
    _, said = told(start, RunEnded(outcome, "done", 1, Spend(), 1))
    told_after = said.partition("   iterations: 1, time: 1.0s\n")[2]
    assert told_after.partition("   To look: `ralph report --open`\n")[0] == note


def test_a_second_signal_names_what_it_ends() -> None:
    _, said = told(CheckStarted("make test", "make test"), StopRequested(True))
    assert said.endswith("Second signal: ending the check now...\n")


def test_a_look_of_its_own_for_stdout() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(
        out,
        err,
        replace(PLAIN, color=True),
        out_look=replace(PLAIN, emoji=False),
        verbose=False,
        stream_agent_output=True,
    )
    console(AgentActed((ToolStarted("1", "Read", "a"),)), AT)
    console(Warned("careful"), AT)
    assert (out.getvalue(), err.getvalue()) == ("[TOOL] Read(a)\n", "\x1b[33m⚠ careful\x1b[0m\n")


def test_an_open_line_of_the_agent_is_closed_before_talk_on_the_same_screen() -> None:
    screen = io.StringIO()
    console = Console(screen, screen, PLAIN, verbose=False, stream_agent_output=True)
    console(AgentActed((Text("half", final=False),)), AT)
    console(Warned("careful"), AT)
    console(AgentActed((Text(" and half"),)), AT)
    assert screen.getvalue() == "half\n⚠ careful\n and half\n"


def test_talk_elsewhere_does_not_cut_the_agents_line() -> None:
    piece = AgentActed((Text("half", final=False),))
    out, _ = told(piece, Warned("careful"), AgentActed((Text(" and half", final=False),)))
    assert out == "half and half"
    out, _ = told(piece, AgentEnded("exited", 0, 1, Spend()))
    assert out == "half\n"


def test_every_line_has_its_time() -> None:
    _, err = told(
        RunStarted("r", "basic", "a", "/", 1), check(Verdict.PASSED), look=replace(PLAIN, timestamps=True)
    )
    assert all(line.startswith("[22:13:20] ") for line in err.splitlines())


def test_only_the_end_of_a_long_stderr_is_shown() -> None:
    _, err = told(AgentEnded("exited", 1, 1, Spend(), stderr="".join(f"{number}\n" for number in range(50))))
    assert err.splitlines()[1:] == [f"   {number}" for number in range(40, 50)]


@pytest.mark.parametrize("close_out", [True, False], ids=["stdout", "stderr"])
def test_a_reader_that_left_ends_only_its_own_stream(close_out: bool) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    memory = io.StringIO()
    with os.fdopen(write_end, "w") as gone:
        out, err = (gone, memory) if close_out else (memory, gone)
        console = Console(out, err, PLAIN, verbose=False, stream_agent_output=True)
        for _ in range(3):
            console(AgentActed((Text("words"),)), AT)
            console(Warned("careful"), AT)
    assert memory.getvalue() == ("⚠ careful\n" if close_out else "words\n") * 3


hostile = st.text(st.one_of(st.characters(), st.sampled_from("\x1b\r\n\t[]0;mA\x07\u202e")), max_size=40)
seconds = st.floats()
loop_events = st.one_of(
    st.builds(RunStarted, hostile, hostile, hostile, hostile, st.none() | st.integers(), st.tuples(hostile)),
    st.builds(
        IterationStarted, st.integers(), st.integers(), st.none() | st.integers(), hostile, hostile, hostile
    ),
    st.builds(AgentStarted, hostile, st.integers(), hostile),
    st.builds(AgentActed, st.tuples(st.builds(Text, hostile, st.booleans()), st.builds(Notice, hostile))),
    st.builds(
        AgentEnded,
        st.sampled_from(["exited", "idle", "of another kind"]),
        st.none() | st.integers(),
        seconds,
        st.just(SPEND),
        fault=st.none()
        | st.builds(Fatal, hostile, hostile)
        | st.builds(RateLimited, hostile, st.none() | seconds)
        | st.builds(Transient, hostile),
        purpose=hostile,
        stderr=hostile,
    ),
    st.builds(ProcessesEnded, st.tuples(hostile)),
    st.builds(CheckStarted, hostile, hostile),
    st.builds(
        CheckEnded,
        st.builds(
            CheckResult,
            hostile,
            st.sampled_from(Verdict),
            st.booleans(),
            st.none() | st.builds(Feedback, hostile),
            hostile,
            st.none() | st.integers(),
            seconds,
            hostile,
            reason=hostile,
            last_lines=st.tuples(hostile, hostile),
        ),
    ),
    st.builds(ClaimsSought, st.tuples(hostile)),
    st.builds(ActionEnded, hostile, st.booleans(), hostile, seconds),
    st.builds(
        IterationEnded,
        st.integers(),
        st.integers(),
        hostile,
        hostile,
        st.booleans(),
        st.booleans(),
        st.just(SPEND),
        seconds,
    ),
    st.builds(PauseBegan, hostile, seconds),
    st.builds(Warned, hostile),
    st.builds(
        RunEnded,
        st.sampled_from(Outcome),
        hostile,
        st.integers(),
        st.just(SPEND),
        seconds,
        st.tuples(hostile),
        hostile,
    ),
)


@given(st.lists(loop_events, max_size=4), st.booleans(), st.booleans(), st.integers(0, 90))
def test_nothing_that_happens_raises_or_reaches_the_terminal_raw(
    events: list[LoopEvent], verbose: bool, timestamps: bool, width: int
) -> None:
    out, err = told(*events, verbose=verbose, look=replace(PLAIN, timestamps=timestamps, width=width))
    assert not any(char in out + err for char in "\x1b\r\x07\u202e\x00")


def test_the_console_loads_nothing_heavy() -> None:
    heavy = ["rich", "click", "msgspec", "asyncio", "sqlite3", "subprocess", "unicodedata"]
    script = (
        "import sys\n"
        "import ralph.interfaces.cli.console.run_view, ralph.interfaces.cli.console.json_lines\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=90, check=True
    )
    assert found.stdout.strip() == "[]"


def test_a_flood_is_rendered_in_no_time() -> None:
    batch: list[AgentEvent] = []
    for number in range(10):
        batch.append(ToolStarted(str(number), "Read", "/path/to/file.go"))
        batch.append(ToolEnded(str(number), output="a line of some length\n" * 12, lines=12, chars=264))
        batch.append(Text("I will now look at the file and change what is needed there."))
        batch.append(Text("a piece", final=False))
        batch.append(Notice("a note"))
    event = AgentActed(tuple(batch))
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - the null device is no path to care for
        console = Console(
            nowhere, nowhere, replace(PLAIN, color=True), verbose=False, stream_agent_output=True
        )
        started = time.process_time()
        for _ in range(400):
            console(event, AT)
        used = time.process_time() - started
    assert used < 0.5  # 20,000 events: some 25 ms; the bound allows for a busy machine


def test_a_failed_run_says_why_and_what_to_do_once() -> None:
    fault = Fatal("not logged in", "run claude login")
    _, err = told(
        RunStarted("r1", "basic", "claude", "/", 3),
        AgentEnded("exited", 1, 2, Spend(), fault=fault),
        iteration_ended("stop", "not logged in"),
        RunEnded(Outcome.FAILED, "not logged in", 0, Spend(), 1, (), "run claude login"),
    )
    assert err.splitlines()[3:] == [
        "❌ Agent failed: not logged in (2.0s)",
        "",
        "❌ Failed: not logged in",
        "   iterations: 0, time: 1.0s",
        "   To look: `ralph report --open`",
        "   To continue: `ralph resume r1`",
        "   hint: run claude login",
    ]


def test_an_error_that_the_stream_has_shown_is_not_repeated() -> None:
    both = io.StringIO()
    console = Console(both, both, PLAIN, verbose=False, stream_agent_output=True)
    for event in (
        AgentStarted("claude", 1),
        AgentActed((ErrorReported("overloaded"), TurnEnded(error="overloaded"))),
        AgentEnded("exited", 1, 2, Spend(), fault=Transient("overloaded")),
    ):
        console(event, AT)
    assert both.getvalue().count("overloaded") == 1
    assert both.getvalue().endswith("⚠ Agent failed (2.0s)\n")
