"""Every recorded way in which an agent ended, and what it means.

``tests/data/faults.jsonl`` has one line for each capture: how the program ended, what of its output decides (the rest
is cut), the ``flags`` that chose its output, and what was decided by people: ``fault`` is ``none``, ``transient``, ``rate_limited`` (``until``, told at
``now``) or ``fatal`` (``hint``: words in it).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.agents.registry import adapter_for
from ralph.domain.agent.reset_time import reset_time
from ralph.domain.loop.session_report import AgentReport, Ending, Fatal, RateLimited, Transient
from ralph.engine.ports import UNLIMITED, AgentRequest, Command, Exit, OutputMode, Running, Timeouts
from ralph.engine.session import AgentSession

DATA = Path(__file__).parents[3] / "data" / "faults.jsonl"
CASES = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


class RecordedRunner:
    """Plays what a program printed, and how it ended."""

    def __init__(self, exit_: Exit, stdout: list[bytes], stderr: bytes = b"") -> None:
        self._exit = exit_
        self._stdout = stdout
        self._stderr = stderr

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
        if self._stdout and on_lines is not None:
            on_lines(self._stdout)
        if self._stderr and on_stderr is not None:
            on_stderr(self._stderr)
        return self._exit


def report_of(case: dict[str, Any]) -> AgentReport:
    """The report of a real session over the recorded program."""
    stdout = [
        (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode()
        for line in case["stdout"]
    ]
    exit_ = Exit(Ending(case.get("ending", "exited")), case["exit"], 1.0)
    session = AgentSession(
        adapter_for(case["agent"], command=case["agent"], flags=case.get("flags", ()), as_root=False),
        RecordedRunner(exit_, stdout, case.get("stderr", "").encode()),
        tags=("promise",),
        show=" ".join,
        reset_time=partial(reset_time, now=case.get("now", 0.0)),
    )
    request = AgentRequest(
        prompt="make x",
        prompt_file=Path("prompt_001.txt"),
        log_file=Path("agent_001.ndjson"),
        cwd=Path("project"),
        mode=OutputMode(case.get("mode", "stream")),
    )
    return asyncio.run(session.run(request, lambda event: None))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['agent']}-{case['case']}" for case in CASES])
def test_a_recorded_ending_is_classified_as_people_decided(case: dict[str, Any]) -> None:
    report = report_of(case)

    match case["fault"]:
        case "none":
            assert report.fault is None
        case "transient":
            assert isinstance(report.fault, Transient)
            assert report.fault.reason
        case "rate_limited":
            assert isinstance(report.fault, RateLimited)
            assert report.fault.until == case.get("until")
        case "fatal":
            assert isinstance(report.fault, Fatal)
            assert case["hint"] in report.fault.hint
        case other:
            pytest.fail(f"unknown decision {other!r}")
    assert report.denials == tuple(case.get("denials", ()))


SIGNALLED = [case for case in CASES if "_sig" in case["case"]]


@pytest.mark.parametrize("ending", [Ending.IDLE, Ending.TIMED_OUT])
@pytest.mark.parametrize("case", SIGNALLED, ids=[f"{case['agent']}-{case['case']}" for case in SIGNALLED])
def test_an_end_by_our_own_signal_is_no_fault_of_the_agent(case: dict[str, Any], ending: Ending) -> None:
    assert report_of({**case, "ending": ending}).fault is None


def test_every_capture_is_here_once() -> None:
    names = Counter((case["agent"], case["case"]) for case in CASES)

    assert max(names.values()) == 1
    assert Counter(agent for agent, _ in names) == {
        "claude": 83,
        "codex": 61,
        "gemini": 45,
        "opencode": 38,
        "qwen": 24,
        "copilot": 24,
    }


# --- words are no faults -----------------------------------------------------------------------------------

WORDS = (
    "rate limit",
    "API Error: Request rejected (429) · rate limit",
    "You've hit your usage limit. Try again at 8:12 AM.",
    "usage limit reached",
    "5-hour limit reached ∙ resets 3pm",
    "Not logged in · Please run /login",
    "unexpected status 401 Unauthorized",
    "Credit balance is too low",
    "Quota exceeded. Check your plan and billing details.",
    "prompt is too long",
    "error: unknown option '--nope'",
    '{"type":"error","error":{"type":"rate_limit_error"}}',
)


def claude_says(words: str, *, exit_: int = 0, ends: bool = True) -> dict[str, Any]:
    said = {"type": "text", "text": words}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"echo '{words}'"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": words, "is_error": True}
    end = {"type": "result", "subtype": "success", "is_error": False, "result": words, "num_turns": 2}
    stdout: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"model": "claude-opus-5-5", "content": [said]}},
        {"type": "assistant", "message": {"model": "claude-opus-5-5", "content": [call]}},
        {"type": "user", "message": {"content": [answer]}},
    ]
    return {"agent": "claude", "exit": exit_, "stdout": [*stdout, end] if ends else stdout}


def codex_says(words: str, *, exit_: int = 0, ends: bool = True) -> dict[str, Any]:
    command = {"type": "command_execution", "id": "i1", "command": "cat log", "aggregated_output": words}
    stdout: list[dict[str, Any]] = [
        {"type": "thread.started", "thread_id": "1"},
        {"type": "item.completed", "item": {"type": "agent_message", "id": "i0", "text": words}},
        {"type": "item.completed", "item": {**command, "exit_code": 1, "status": "failed"}},
        {"type": "item.completed", "item": {"type": "error", "id": "i2", "message": words}},  # a warning
    ]
    end = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {"agent": "codex", "exit": exit_, "stdout": [*stdout, end] if ends else stdout}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("says", [claude_says, codex_says])
def test_words_of_the_agent_or_a_tool_are_no_fault(says: Callable[..., dict[str, Any]], words: str) -> None:
    assert report_of(says(words)).fault is None


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("says", [claude_says, codex_says])
def test_a_crash_after_such_words_is_a_crash(says: Callable[..., dict[str, Any]], words: str) -> None:
    fault = report_of(says(words, exit_=1, ends=False)).fault

    assert fault == Transient("exit status 1")


@pytest.mark.parametrize("words", WORDS)
def test_plain_output_is_prose_whatever_it_says(words: str) -> None:
    for agent in ("claude", "plain"):
        report = report_of({"agent": agent, "exit": 0, "mode": "text", "stdout": [words]})
        assert report.fault is None


# --- retries -----------------------------------------------------------------------------------------------


def test_a_retry_that_was_overcome_does_not_explain_a_later_silence() -> None:
    retry = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "error_status": 429,
        "error": "rate_limit",
    }
    case = claude_says("working on it", exit_=-9, ends=False)

    overcome = report_of({**case, "ending": "idle", "stdout": [retry, *case["stdout"]]})
    stuck = report_of({**case, "ending": "idle", "stdout": [*case["stdout"], retry]})

    assert overcome.fault is None
    assert isinstance(stuck.fault, RateLimited)


def test_a_kill_while_the_agent_retries_is_a_kill() -> None:
    retry = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "error_status": 401,
        "error": "authentication_failed",
    }

    report = report_of({"agent": "claude", "exit": -9, "stdout": [retry]})

    assert report.fault == Transient("ended by SIGKILL before it was done")


# --- codex's words in error events -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "kind", "until"),
    [
        (
            "You\u2019ve hit your usage limit. Try again in 3 days 4 hours.",
            RateLimited,
            1_000_000 + 76 * 3600.0,
        ),
        ("You've hit your usage limit. Try again later.", RateLimited, None),
        ("Quota exceeded. Check your plan and billing details.", Fatal, None),
        ("Your workspace is out of credits. Add credits to continue.", Fatal, None),
        (
            "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
            Fatal,
            None,
        ),
    ],
)
def test_a_limit_is_waited_for_and_missing_money_is_not(
    message: str, kind: type, until: float | None
) -> None:
    failed = {"type": "turn.failed", "error": {"message": message}}
    case = {"agent": "codex", "exit": 1, "now": 1_000_000.0}

    fault = report_of({**case, "stdout": [{"type": "error", "message": message}, failed]}).fault

    assert type(fault) is kind
    assert not isinstance(fault, RateLimited) or fault.until == until
