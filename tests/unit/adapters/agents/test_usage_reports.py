"""What the streams say about tokens, models and permissions before the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph.adapters.agents.claude.stream import ClaudeStreamParser
from ralph.adapters.agents.codex.agent import chosen_model
from ralph.adapters.agents.codex.stream import CodexStreamParser
from ralph.adapters.agents.qwen.stream import QwenStreamParser
from ralph.domain.agent.events import (
    AgentEvent,
    LimitReported,
    SessionStarted,
    TurnEnded,
    Usage,
    UsageReported,
)

USED = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_read_input_tokens": 5,
    "cache_creation_input_tokens": 2,
}


def line(value: object) -> bytes:
    return json.dumps(value).encode()


def said(name: str | None, **more: Any) -> bytes:
    message = {"id": name, "model": "m", "content": [{"type": "text", "text": "x"}], "usage": USED, **more}
    return line({"type": "assistant", "message": message})


def reported(events: list[AgentEvent]) -> list[Usage]:
    return [event.usage for event in events if isinstance(event, UsageReported)]


def test_each_message_counts_once_however_many_blocks_it_has() -> None:
    parser = ClaudeStreamParser()

    assert reported(parser.parse([said("a"), said("a")])) == [Usage(10, 1, 5, 2)]
    assert reported(parser.parse([said("a")])) == []
    assert reported(parser.parse([said("b"), said("a"), said("c"), said("b")])) == [Usage(20, 2, 10, 4)]


def test_a_message_without_a_name_is_one_line() -> None:
    assert reported(ClaudeStreamParser().parse([said(None), said(None)])) == [Usage(20, 2, 10, 4)]


def test_a_batch_reports_before_the_end_of_the_turn() -> None:
    end = line({"type": "result", "subtype": "success", "usage": USED})

    events = ClaudeStreamParser().parse([said("a"), end, said("b")])

    assert [
        type(event) for event in events if not hasattr(event, "text") or isinstance(event, TurnEnded)
    ] == [
        UsageReported,
        TurnEnded,
        UsageReported,
    ]


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, {"input_tokens": 0, "output_tokens": 0}])
def test_a_message_that_used_nothing_reports_nothing(usage: object) -> None:
    assert reported(ClaudeStreamParser().parse([said("a", usage=usage)])) == []


def test_a_usage_of_another_shape_costs_only_the_report() -> None:
    events = ClaudeStreamParser().parse([said("a", usage="much"), said("b", usage={"input_tokens": "many"})])

    assert [event.kind for event in events] == ["text", "text"]


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ({"unifiedWindows": {"five_hour": {"utilization": 0.4, "resetsAt": 9}}}, {"5h": 60.0}),
        (
            {
                "unifiedWindows": {
                    name: {"utilization": 0.3, "resetsAt": 9} for name in ("five_hour", "seven_day")
                }
            },
            {"5h": 70.0, "week": 70.0},
        ),
        ({"rateLimitType": "seven_day", "utilization": 0.8, "resetsAt": 9}, {"week": 20.0}),
        (
            {
                "rateLimitType": "seven_day_opus",
                "utilization": 0.8,
                "resetsAt": 9,
                "unifiedWindows": {"seven_day": {"utilization": 0.5, "resetsAt": 9}},
            },
            {"week": 20.0},
        ),
        ({"rateLimitType": "five_hour", "resetsAt": 9}, {}),
        ({"rateLimitType": "five_hour", "utilization": 1.2, "resetsAt": 9}, {"5h": 0.0}),
        ({"rateLimitType": "five_hour", "utilization": "0.2", "resetsAt": 9}, {}),
        ({"rateLimitType": "overage", "utilization": 0.2, "resetsAt": 9}, {}),
        ({"unifiedWindows": [1], "utilization": {}}, {}),
        ({"unifiedWindows": {"five_hour": {"utilization": 10**400, "resetsAt": 10**400}}}, {}),
        ({"unifiedWindows": {"five_hour": 1, "seven_day": {"utilization": True, "resetsAt": 9}}}, {}),
    ],
)
def test_claude_says_how_much_is_left_of_each_window(told: dict[str, object], left: dict[str, float]) -> None:
    info = {"status": "rejected", **told}
    (event,) = ClaudeStreamParser().parse([line({"type": "rate_limit_event", "rate_limit_info": info})])
    assert isinstance(event, LimitReported)
    assert event.rejected  # whatever shape the rest has
    assert {window.name: window.left for window in event.windows} == left


@pytest.mark.parametrize(
    ("flags", "model"),
    [
        ((), ""),
        (("-m", "gpt-5.5"), "gpt-5.5"),
        (("-mgpt-5.5",), "gpt-5.5"),
        (("--model", "gpt-5.5"), "gpt-5.5"),
        (("--model=gpt-5.5",), "gpt-5.5"),
        (("-c", 'model="gpt-5.5"'), "gpt-5.5"),
        (("--config=model=gpt-5.5",), "gpt-5.5"),
        (("-c", "model_provider=lab"), ""),
        (("-m",), ""),
    ],
)
def test_codex_names_its_model_only_by_its_flags(flags: tuple[str, ...], model: str) -> None:
    assert chosen_model(flags) == model
    started = CodexStreamParser(model).parse([line({"type": "thread.started", "thread_id": "1"})])
    assert started == [SessionStarted("1", model)]


def test_codex_says_which_commands_were_declined() -> None:
    item = {"type": "command_execution", "id": "1", "command": "rm -r x", "exit_code": None}
    parser = CodexStreamParser()
    events = parser.parse(
        [
            line({"type": "item.completed", "item": {**item, "status": "declined"}}),
            line({"type": "item.completed", "item": {**item, "status": "failed"}}),
            line({"type": "turn.completed", "usage": {"input_tokens": 1}}),
            line({"type": "turn.completed", "usage": {"input_tokens": 1}}),
        ]
    )

    assert [event.denials for event in events if isinstance(event, TurnEnded)] == [("shell",), ()]


def test_what_a_resumed_codex_thread_used_before_is_not_counted_again() -> None:
    counts = {"input_tokens": 3_000, "cached_input_tokens": 2_400, "output_tokens": 150}
    end = line({"type": "turn.completed", "usage": counts})

    (first,) = CodexStreamParser().parse([end])
    (resumed,) = CodexStreamParser(used_before=Usage(400, 100, 1_600)).parse([end])
    (begun_again,) = CodexStreamParser(used_before=Usage(4_000, 100)).parse([end])

    assert isinstance(first, TurnEnded)
    assert isinstance(resumed, TurnEnded)
    assert isinstance(begun_again, TurnEnded)
    assert (first.usage, resumed.usage) == (Usage(600, 150, 2_400), Usage(200, 50, 800))
    assert begun_again.usage == first.usage


def test_what_a_resumed_qwen_session_used_before_is_not_counted_again() -> None:
    used = {"input_tokens": 3_000, "cache_read_input_tokens": 2_400, "output_tokens": 150}
    end = line({"type": "result", "subtype": "success", "usage": used})

    (resumed,) = QwenStreamParser(Usage(400, 100, 1_600)).parse([end])

    assert isinstance(resumed, TurnEnded)
    assert resumed.usage == Usage(200, 50, 800)
