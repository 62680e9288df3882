"""What an error of an ACP agent means, wherever it puts it; and that work about errors is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from ralph.adapters.agents.acp.agent import AcpAdapter
from ralph.adapters.agents.acp.conversation import ANSWER_SECONDS, NO_ANSWER, UNSUITABLE
from ralph.adapters.agents.acp.failures import error_in, voiced_error
from ralph.domain.agent.events import NO_RESULT, AgentEvent, ErrorReported, TurnEnded
from ralph.domain.loop.session_report import Ending, Exhausted, Fatal, Fault, RateLimited, Transient
from ralph.engine.ports import Exit


def judge(
    *events: AgentEvent,
    ending: Ending = Ending.EXITED,
    is_empty: bool = True,
    code: int = 0,
    seconds: float = 1.0,
) -> Fault | Exhausted | None:
    adapter = AcpAdapter(command="kimi", flags=(), as_root=False)
    return adapter.classify(Exit(ending, code, seconds), events, stderr="", is_empty=is_empty)


def failed(error: ErrorReported, **how: Any) -> Fault | Exhausted | None:
    return judge(error, TurnEnded(error=error.message), **how)


def internal(data: dict[str, object]) -> dict[str, object]:
    return {"code": -32603, "message": "Internal error", "data": data}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": -32000, "message": "Authentication required"}, Fatal),
        ({"code": -32000, "message": "x", "data": {"status": 529}}, Transient),
        ({"code": 429, "message": "Rate limit exceeded. Try again later."}, RateLimited),
        ({"code": 401, "message": "no"}, Fatal),
        ({"code": 503, "message": "no"}, Transient),
        (
            {"code": -32603, "message": "Internal error", "data": {"codexErrorInfo": "usageLimitExceeded"}},
            RateLimited,
        ),
        ({"code": -32603, "message": "Internal error", "data": {"details": "401 bad key"}}, Fatal),
        ({"code": -32603, "message": "Internal error", "data": "429 Too Many Requests"}, RateLimited),
        ({"code": -32603, "message": "Internal error: API Error: 500 oops"}, Transient),
        ({"code": -32603, "message": "Internal error", "data": {"statusCode": 402}}, Fatal),
        ({"code": -32603, "message": "prompt is too long"}, Fatal),
        ({"code": -32603, "message": "something else"}, Transient),
        (internal({"status": 503, "details": "overloaded", "model": {"context_window": 200_000}}), Transient),
        (internal({"status": 429, "details": "slow down", "limits": {"context_length": 8}}), RateLimited),
        (internal({"details": "it failed", "context_length": 8, "usage limit": 1, "quota": 2}), Transient),
        (internal({"details": "socket hang up while refreshing quota"}), Transient),
        (internal({"details": "it failed", "codexErrorInfo": "contextWindowExceeded"}), Fatal),
        (internal({"error": {"type": "rate_limit_error", "message": "slow down"}}), RateLimited),
        (internal({"error": {"type": "billing_error", "message": "no"}}), Fatal),
        ({"code": "x"}, Transient),
        (7, Transient),
    ],
)
def test_an_error_as_an_answer(error: Any, kind: type) -> None:
    fault = failed(error_in(Raw(json.dumps(error).encode())))

    assert isinstance(fault, kind)
    assert fault is not None
    assert fault.reason


def test_not_logged_in_says_how_to() -> None:
    fault = failed(error_in(Raw(b'{"code":-32000,"message":"Authentication required"}')))

    assert fault == Fatal("Authentication required", "log in: `kimi login`")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('API Error: 401 {"type":"error"}', Fatal),
        ("[API Error: 429 quota]", RateLimited),
        ("Invalid API key · Please run /login", Fatal),
        ("You've hit your limit · resets 3pm", RateLimited),
        ("unexpected status 503 Service Unavailable: x\n\n", Transient),
        ("stream disconnected before completion", Transient),
        ("exceeded retry limit, last status: 429 Too Many Requests", RateLimited),
    ],
)
def test_an_error_in_the_assistants_voice(said: str, kind: type) -> None:
    error = voiced_error(said)

    assert error is not None
    assert isinstance(failed(error, is_empty=False), kind)


@pytest.mark.parametrize(
    "said",
    [
        "I fixed the API Error: 401 in login.py",
        "The test failed with API Error: 500; it passes now.",
        "API Error handling is in place now.\n\nAll tests pass.",
        "API Error: 401 is what the endpoint must return. <response>DONE</response>",
        "Rate limit exceeded " + "x" * 2000,
        "DONE",
        "",
    ],
)
def test_words_about_errors_are_no_error(said: str) -> None:
    assert voiced_error(said) is None


def test_silence_is_a_fault_unless_the_turn_was_over() -> None:
    waiting = ErrorReported("ended before it answered session/prompt", None, NO_RESULT, True)
    reason = "silent past the idle timeout: it ended before it answered session/prompt"

    assert judge(waiting, ending=Ending.IDLE, code=-2) == Transient(reason)
    assert judge(ending=Ending.IDLE, code=-2, is_empty=False) == Transient("silent past the idle timeout")
    assert judge(TurnEnded(), ending=Ending.IDLE, code=-2, is_empty=False) is None
    assert judge(waiting, ending=Ending.TIMED_OUT, code=-2, is_empty=False) is None


@pytest.mark.parametrize(
    ("code", "is_empty", "kind"),
    [
        ("max_tokens", False, Exhausted),
        ("max_tokens", True, Transient),
        ("max_turn_requests", False, Exhausted),
        ("refusal", False, Transient),
        (UNSUITABLE, True, Fatal),
    ],
)
def test_other_ends_of_a_turn(code: str, is_empty: bool, kind: type | None) -> None:
    fault = failed(ErrorReported("why", None, code, True), is_empty=is_empty)

    assert fault is None if kind is None else isinstance(fault, kind)


@pytest.mark.parametrize(("code", "seconds"), [(0, 1.0), (-15, ANSWER_SECONDS), (143, ANSWER_SECONDS)])
def test_a_program_that_does_not_answer_does_not_speak_acp(code: int, seconds: float) -> None:
    fault = judge(ErrorReported(NO_ANSWER, None, NO_RESULT, True), code=code, seconds=seconds)

    assert isinstance(fault, Fatal)
    assert fault.reason == f"kimi {NO_ANSWER}"
    assert "--acp" in fault.hint
    assert "agent.adapter" in fault.hint


def test_a_crash_before_the_first_answer_may_be_tried_again() -> None:
    assert isinstance(judge(ErrorReported(NO_ANSWER, None, NO_RESULT, True), code=-9), Transient)
