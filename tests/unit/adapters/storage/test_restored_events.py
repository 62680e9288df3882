"""What the journal wrote comes back as it was."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from ralph.adapters.storage.wire import encode_event, restore
from ralph.domain.agent.events import (
    AgentEvent,
    BackgroundChanged,
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
    UsageReported,
)
from ralph.domain.agent.quota import Window
from ralph.domain.delivery.seen import SeenCheck
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
    PullRequestSeen,
    QuotaSeen,
    RunEnded,
    RunPaused,
    RunStarted,
    RunUnpaused,
    Steered,
    StopRequested,
    TaskReported,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.session_report import Fatal, RateLimited, Spend, Transient

SPEND = Spend(0.5, Usage(1, 2, 3, 4), 5.0)
ACTED: list[AgentEvent] = [
    SessionStarted("session", "opus"),
    Text("hello", final=False, parent="tool"),
    Reasoning("hm"),
    ToolStarted("a", "Read", "file", "parent"),
    ToolEnded("a", "Read", "output", is_error=True, lines=1, chars=6),
    BackgroundChanged(("make build", "npm test")),
    TodoChanged((TodoItem("one", TodoStatus.DONE), TodoItem("two", TodoStatus.ACTIVE))),
    UsageReported(Usage(1, 2), 0.25),
    TurnEnded("text", usage=Usage(1, 2), cost_usd=0.1, denials=("Bash",)),
    LimitReported(rejected=True, limit="five_hour", resets_at=17.5, windows=(Window("5h", 0.0, 17.5),)),
    ErrorReported("overloaded", status=529, final=True),
    Notice("retrying"),
    Unknown("brand_new"),
    Noise("not json", torn=True),
]
EVENTS: list[LoopEvent] = [
    RunStarted("run", "basic", "claude", "/", maximum=10, notes=("note",)),
    IterationStarted(1, 2, None, "prompt", "coder", "Do it.", 6, "prompt_001.txt"),
    AgentStarted("claude -p", 7),
    AgentActed(tuple(ACTED)),
    AgentEnded("exited", None, 1.5, SPEND, tools=3, stderr="oh", denials=("Bash",)),
    AgentEnded("exited", 1, 1.5, SPEND, fault=Transient("overloaded")),
    AgentEnded("exited", 1, 1.5, SPEND, fault=RateLimited("limit", 99.0)),
    AgentEnded("exited", 1, 1.5, SPEND, fault=Fatal("not logged in", "log in")),
    ProcessesEnded(("sleep (7)",)),
    CheckStarted("tests", "make test"),
    CheckEnded(
        CheckResult(
            "tests",
            Verdict.FAILED,
            feedback=Feedback("mend it", Placement.PREPEND),
            exit_code=1,
            last_lines=("a", "b"),
            spend=SPEND,
        )
    ),
    ClaimsSought(("done: tag response",)),
    ActionStarted("commit"),
    ActionEnded("commit", ok=False, message="nothing to commit", seconds=0.5),
    IterationEnded(1, 2, "continue", "because", True, False, SPEND, 2.0),
    QuotaSeen("claude", (Window("5h", 60.0, 17.5), Window("week", 70.5, 99.0))),
    PauseBegan("limit", 99.0),
    RunPaused(),
    RunUnpaused(),
    Steered("look at the parser"),
    StopRequested(now=True),
    Warned("careful"),
    PullRequestSeen(
        12,
        "https://h/pull/12",
        "Sort",
        "sort",
        "main",
        "9f3e",
        "open",
        "wait",
        "waits for build",
        checks=(
            SeenCheck("build", "pending"),
            SeenCheck("e2e", "passed", "https://h/1", is_flaky=True, is_required=False),
        ),
        for_people=True,
        is_draft=True,
        strangers=2,
        hint="look at it",
    ),
    TaskReported(
        "T-1", "Add a sum", Outcome.WAITING, "blocked", "waits for T-0", 2, 1, SPEND, 3.0, is_begun=False
    ),
    RunEnded(Outcome.COMPLETED, "done", 2, SPEND, 3.0, ("a concern",), "a hint"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_an_event_comes_back_as_it_was(event: LoopEvent) -> None:
    again = restore(encode_event(event))
    assert again == event
    assert again is not None
    assert again.kind == event.kind
    assert encode_event(again) == encode_event(event)


def test_every_kind_of_event_is_tried_here() -> None:
    """A kind that is added needs an example: not every shape can be read back without help."""
    assert {type(event) for event in EVENTS} == set(get_args(LoopEvent))
    assert {type(event) for event in ACTED} == set(get_args(AgentEvent))


@pytest.mark.parametrize(
    "data",
    [
        b'{"kind":"of_a_newer_ralph","text":"hello"}',
        b'{"text":"no kind"}',
        b'{"kind":["a"]}',
        b'{"kind":"warned","message":7}',
        b'{"kind":"warned"}',
        b'{"kind":"agent_acted","events":"none"}',
        b'{"kind":"agent_ended","ending":"exited"}',
        b'{"kind":"agent_ended","ending":"exited","exit_code":0,"seconds":1,"spend":7}',
        b"[1]",
        b"not json",
        b"\xff",
        b"",
    ],
)
def test_what_is_not_understood_is_skipped(data: bytes) -> None:
    assert restore(data) is None


def test_unknown_fields_and_unknown_doings_of_an_agent_are_left_out() -> None:
    record = {
        "kind": "agent_acted",
        "new": 1,
        "events": [{"kind": "sang", "song": "la"}, {"kind": "text", "text": "hello", "mood": "glad"}],
    }
    assert restore(json.dumps(record).encode()) == AgentActed((Text("hello"),))


def test_a_fault_of_an_unknown_kind_is_no_fault() -> None:
    event = AgentEnded("exited", 1, 1.5, SPEND, fault=Transient("overloaded"))
    data = encode_event(event).replace(b'"transient"', b'"novel"')
    again = restore(data)
    assert isinstance(again, AgentEnded)
    assert again.fault is None


def test_a_pull_request_of_another_version_is_read_as_far_as_it_is_known() -> None:
    """A later one says more, an earlier one less."""
    required = {
        "number": 1,
        "url": "",
        "title": "",
        "branch": "b",
        "base": "m",
        "head": "",
        "state": "open",
        "step": "wait",
    }
    later = {
        "kind": "pull_request_seen",
        **required,
        "reason": "",
        "mood": "good",
        "checks": [{"name": "a", "standing": "?", "age": 1}],
    }
    seen = restore(json.dumps(later).encode())
    assert isinstance(seen, PullRequestSeen)
    assert seen.checks == (SeenCheck("a", "?"),)
    assert seen.strangers == 0
    assert restore(json.dumps({**later, "checks": "none"}).encode()) is None
