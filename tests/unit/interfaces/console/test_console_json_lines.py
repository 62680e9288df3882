from __future__ import annotations

import io
import json
import os
from typing import Any

import pytest

from ralph.domain.agent.events import (
    AgentEvent,
    ErrorReported,
    LimitReported,
    Noise,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    TodoChanged,
    TodoItem,
    TodoStatus,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
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
from ralph.domain.loop.session_report import Fatal, Fault, RateLimited, Spend, Transient
from ralph.interfaces.cli.console.json_lines import JsonLines

AT = 1_700_000_000.1234
SPEND = Spend(0.5, Usage(1, 2, 3, 4), 6.0)
SPEND_JSON = {
    "cost_usd": 0.5,
    "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4},
    "seconds": 6.0,
    "is_partly_unknown": False,
}


def record(event: LoopEvent) -> dict[str, Any]:
    out = io.StringIO()
    JsonLines(out)(event, AT)
    (line,) = out.getvalue().splitlines()
    parsed = json.loads(line)
    assert list(parsed)[:2] == ["at", "type"]
    assert parsed.pop("at") == "2023-11-14T22:13:20.123Z"
    return dict(parsed)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            RunStarted("r1", "basic", "claude", "/root", 10, ("note",)),
            {
                "type": "run_started",
                "run_id": "r1",
                "profile": "basic",
                "agent": "claude",
                "root": "/root",
                "maximum": 10,
                "notes": ["note"],
                "sandbox": [],
                "commands": [],
                "proof": None,
                "resumed": False,
                "versions": {},
            },
        ),
        (
            IterationStarted(1, 2, None, "prompt", "coder", "Do it", 5, "p.txt"),
            {
                "type": "iteration_started",
                "iteration": 1,
                "attempt": 2,
                "maximum": None,
                "assignment": "prompt",
                "role": "coder",
                "prompt": "Do it",
                "prompt_chars": 5,
                "prompt_file": "p.txt",
                "commit": "",
                "used": 0,
                "limit": None,
                "promise": "",
            },
        ),
        (
            AgentStarted("claude -p", 42),
            {"type": "agent_started", "command": "claude -p", "pid": 42, "purpose": "iteration"},
        ),
        (ProcessesEnded(("sleep 9",)), {"type": "processes_ended", "left_behind": ["sleep 9"]}),
        (CheckStarted("n", "c"), {"type": "check_started", "name": "n", "command": "c"}),
        (
            CheckEnded(
                CheckResult(
                    "n",
                    Verdict.FAILED,
                    feedback=Feedback("f", Placement.PREPEND),
                    exit_code=1,
                    last_lines=("one", "two"),
                    spend=SPEND,
                )
            ),
            {
                "type": "check_ended",
                "result": {
                    "name": "n",
                    "verdict": "failed",
                    "required": True,
                    "feedback": {"text": "f", "placement": "PREPEND", "is_history": False},
                    "command": "",
                    "exit_code": 1,
                    "seconds": 0.0,
                    "log_file": "",
                    "output_sha256": "",
                    "reason": "",
                    "last_lines": ["one", "two"],
                    "spend": SPEND_JSON,
                    "concern": "",
                    "contains": 0,
                    "hindrance": None,
                    "sent_back": "",
                },
            },
        ),
        (ClaimsSought(("done (tag response)",)), {"type": "claims_sought", "found": ["done (tag response)"]}),
        (ActionStarted("scm"), {"type": "action_started", "name": "scm"}),
        (
            ActionEnded("scm", True, "ok", 1.5),
            {"type": "action_ended", "name": "scm", "ok": True, "message": "ok", "seconds": 1.5},
        ),
        (
            IterationEnded(1, 1, "accept", "why", True, True, SPEND, 2.0),
            {
                "type": "iteration_ended",
                "iteration": 1,
                "attempt": 1,
                "decision": "accept",
                "reason": "why",
                "claimed": True,
                "proven": True,
                "spend": SPEND_JSON,
                "seconds": 2.0,
                "commit": "",
            },
        ),
        (
            PauseBegan("x", 5.0, "offline"),
            {"type": "pause_began", "reason": "x", "until": 5.0, "cause": "offline"},
        ),
        (StopRequested(True), {"type": "stop_requested", "now": True, "elsewhere": False}),
        (Warned("é\n"), {"type": "warned", "message": "é\n", "mild": False}),
        (
            RunEnded(Outcome.EXHAUSTED, "why", 3, SPEND, 9.0, ("c",), "h"),
            {
                "type": "run_ended",
                "outcome": "exhausted",
                "reason": "why",
                "iterations": 3,
                "spend": SPEND_JSON,
                "seconds": 9.0,
                "concerns": ["c"],
                "hint": "h",
                "denied": 0,
                "more": "",
                "tree": None,
            },
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_event_is_one_object(event: LoopEvent, expected: dict[str, Any]) -> None:
    assert record(event) == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (None, None),
        (Transient("net"), {"type": "transient", "reason": "net"}),
        (RateLimited("limit", 7.0), {"type": "rate_limited", "reason": "limit", "until": 7.0}),
        (Fatal("gone", "log in"), {"type": "fatal", "reason": "gone", "hint": "log in", "is_full": False}),
    ],
    ids=["none", "transient", "rate limited", "fatal"],
)
def test_a_fault_names_its_type(fault: Fault | None, expected: dict[str, Any] | None) -> None:
    parsed = record(AgentEnded("exited", 1, 2.0, SPEND, 3, 1, fault, stderr="x"))
    assert parsed["fault"] == expected
    assert expected is None or next(iter(parsed["fault"])) == "type"
    assert (parsed["type"], parsed["spend"], parsed["stderr"]) == ("agent_ended", SPEND_JSON, "x")


def test_what_the_agent_did_is_a_list_of_typed_events() -> None:
    events: tuple[AgentEvent, ...] = (
        SessionStarted("s", "m"),
        Text("t"),
        Reasoning("r"),
        ToolStarted("1", "Read", "a"),
        ToolEnded("1", "Read", "out", True, 1, 3),
        TodoChanged((TodoItem("x", TodoStatus.ACTIVE),)),
        TurnEnded(cost_usd=0.5),
        LimitReported(True, "l", 3.0),
        ErrorReported("e", 529),
        Notice("n"),
        Unknown("brand.new"),
        Noise("z", True),
    )
    parsed = record(AgentActed(events))
    assert parsed["type"] == "agent_acted"
    assert [one["type"] for one in parsed["events"]] == [event.kind for event in events]
    assert all(next(iter(one)) == "type" and "kind" not in one for one in parsed["events"])
    assert parsed["events"][1] == {"type": "text", "text": "t", "final": True, "parent": ""}
    assert parsed["events"][5]["items"] == [{"text": "x", "status": "in_progress"}]
    assert parsed["events"][10] == {"type": "unknown", "unknown_type": "brand.new", "has_words": False}


@pytest.mark.parametrize(
    "text", ["half \ud83d", "a\u2028b\u2029c\x85d", "\x1b[31m\x00\x7f", '"quotes" \\ and \n']
)
def test_any_text_stays_on_one_line_and_parses(text: str) -> None:
    expected = text.encode("utf-8", "replace").decode()
    assert record(AgentActed((Text(text),)))["events"][0]["text"] == expected
    assert record(Warned(text))["message"] == expected


def test_lines_are_utf8_and_flushed_at_once() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "w", encoding="ascii") as out:
        JsonLines(out)(Warned("é"), AT)
        assert json.loads(reader.readline())["message"] == "é"


def test_a_reader_that_left_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as out:
        lines = JsonLines(out)
        for _ in range(3):
            lines(Warned("x"), AT)
