"""How a session's end is classified, beyond what the recorded sessions show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ralph.adapters.agents.faults import BUDGET, FULL, TIME, TURNS
from ralph.adapters.agents.registry import adapter_for, facts_of
from ralph.agent_names import ACP, PLAIN, known_agents, named_agents
from ralph.domain.agent.events import AgentEvent, ErrorReported, LimitReported, TurnEnded
from ralph.domain.loop.session_report import Ending, Exhausted, Fatal, Fault, RateLimited, Transient
from ralph.engine.ports import Exit

STREAMING = named_agents()


def classify(
    agent: str,
    code: int | None,
    *events: AgentEvent,
    ending: Ending = Ending.EXITED,
    stderr: str = "",
    is_empty: bool = True,
    error: str = "",
) -> Fault | Exhausted | None:
    adapter = adapter_for(agent, command=agent, flags=(), as_root=False)
    exit_ = Exit(ending, code, 1.0, error=error)
    return adapter.classify(exit_, events, stderr=stderr, is_empty=is_empty)


@pytest.mark.parametrize("agent", known_agents())
def test_a_program_that_cannot_start_is_fatal_and_says_how_to_install_it(agent: str) -> None:
    fault = classify(agent, None, ending=Ending.NOT_STARTED, error="no such file")

    hint = "install it, or give its full path as agent.command"
    if agent != PLAIN:
        hint = f"to install it: {facts_of(agent).install}"
    assert fault == Fatal(f"cannot start {agent}: no such file", hint)


@pytest.mark.parametrize("agent", known_agents())
def test_a_session_stopped_by_the_user_is_no_fault(agent: str) -> None:
    assert classify(agent, -2, ending=Ending.STOPPED, stderr="error: interrupted") is None


@pytest.mark.parametrize(
    ("agent", "ending"),
    [
        (agent, ending)
        for agent in known_agents()
        for ending in (Ending.IDLE, Ending.TIMED_OUT)
        if (agent, ending) != (ACP, Ending.IDLE)  # there, silence is a fault: see test_acp_faults
    ],
)
def test_a_session_that_we_ended_is_judged_by_what_it_did(agent: str, ending: Ending) -> None:
    assert classify(agent, -15, ending=ending, is_empty=False) is None
    assert classify(agent, -15, ending=ending, is_empty=True) is None


@pytest.mark.parametrize("agent", known_agents())
@pytest.mark.parametrize(("code", "name"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (137, "SIGKILL")])
def test_a_session_ended_by_a_signal_is_tried_again(agent: str, code: int, name: str) -> None:
    assert classify(agent, code, is_empty=False) == Transient(f"ended by {name} before it was done")


@pytest.mark.parametrize("agent", STREAMING)
def test_an_exit_status_after_a_finished_turn_does_not_matter(agent: str) -> None:
    assert classify(agent, -15, TurnEnded(text="ok"), is_empty=False) is None
    assert classify(agent, 1, TurnEnded(text="ok"), is_empty=False) is None


@pytest.mark.parametrize("agent", STREAMING)
def test_an_empty_answer_is_tried_again(agent: str) -> None:
    assert classify(agent, 0, TurnEnded()) == Transient("empty response")
    assert classify(agent, 0) == Transient("empty response")


@pytest.mark.parametrize("agent", STREAMING)
def test_a_failure_that_was_overcome_is_no_fault(agent: str) -> None:
    events: Sequence[AgentEvent] = (
        ErrorReported("overloaded", 529),
        LimitReported(rejected=True, limit="five_hour", resets_at=5.0),
        TurnEnded(error="overloaded"),
        TurnEnded(text="ok"),
    )

    assert classify(agent, 0, *events, is_empty=False) is None


@pytest.mark.parametrize("agent", STREAMING)
def test_a_rejected_limit_says_until_when(agent: str) -> None:
    limit = LimitReported(rejected=True, limit="five_hour", resets_at=1_794_729_378.0)

    assert classify(agent, 1, limit) == RateLimited("five_hour limit reached", 1_794_729_378.0)


@pytest.mark.parametrize("agent", STREAMING)
@pytest.mark.parametrize(
    ("status", "is_empty", "fault"),
    [
        (400, True, Fatal),
        (400, False, Transient),
        (401, False, Fatal),
        (402, False, Fatal),
        (403, True, Fatal),
        (404, True, Fatal),
        (408, True, Transient),
        (413, True, Fatal),
        (429, True, RateLimited),
        (429, False, RateLimited),
        (500, True, Transient),
        (503, False, Transient),
        (529, True, Transient),
        (None, True, Transient),
    ],
)
def test_an_http_status_decides(agent: str, status: int | None, is_empty: bool, fault: type) -> None:
    error = ErrorReported("it failed", status, "", True)

    got = classify(agent, 1, error, TurnEnded(error="it failed", turns=1), is_empty=is_empty)

    assert type(got) is fault
    assert got is not None
    assert got.reason == "it failed"


@pytest.mark.parametrize(("code", "end"), [("error_max_turns", TURNS), ("error_max_budget_usd", BUDGET)])
def test_a_limit_the_user_gave_claude_is_no_fault(code: str, end: Exhausted) -> None:
    error = ErrorReported("reached", None, code, True)

    assert classify("claude", 1, error, TurnEnded(error="reached")) == end


@pytest.mark.parametrize(
    ("agent", "status", "end"), [("qwen", 53, TURNS), ("qwen", 55, TIME), ("gemini", 53, TURNS)]
)
def test_a_limit_that_only_the_exit_status_tells_of_is_no_fault(
    agent: str, status: int, end: Exhausted
) -> None:
    assert classify(agent, status) == end


def test_a_claude_session_that_fails_in_its_work_is_tried_again() -> None:
    error = ErrorReported("error_during_execution", None, "error_during_execution", True)

    fault = classify("claude", 1, error, TurnEnded(error=error.message, turns=3), is_empty=False)

    assert fault == Transient("error_during_execution")


def test_text_mode_has_only_its_exit_status() -> None:
    assert classify("claude", 0, is_empty=False) is None
    assert classify("claude", 1, is_empty=False) == Transient("exit status 1")
    assert classify("codex", 0, is_empty=False) is None


@pytest.mark.parametrize(
    ("last_line", "fault"),
    [
        ("ERROR: unexpected status 401 Unauthorized: no key", Fatal),
        ("ERROR: You've hit your usage limit. Try again at 8:12 AM.", RateLimited),
        ("ERROR: We're currently experiencing high demand.", Transient),
        ("thread 'main' panicked", Transient),
    ],
)
def test_codex_in_text_mode_says_its_error_in_the_last_line_of_stderr(last_line: str, fault: type) -> None:
    talk = "OpenAI Codex v0.166.0\n--------\nuser\nfix the error: unexpected status 401 Unauthorized\n"

    assert type(classify("codex", 1, stderr=f"{talk}{last_line}\n")) is fault


def test_codex_retrying_without_end_is_what_it_was_retrying_for() -> None:
    waiting = ErrorReported("Reconnecting... 1/5 (exceeded retry limit, last status: 429)", 429)

    assert isinstance(classify("codex", -9, waiting, ending=Ending.IDLE), RateLimited)
    assert classify("codex", -9, waiting, ending=Ending.TIMED_OUT, is_empty=False) is None


def test_a_full_context_is_fatal_only_if_the_prompt_alone_filled_it() -> None:
    full = TurnEnded(error="Codex ran out of room in the model's context window. Start a new thread.")

    assert isinstance(classify("codex", 1, full, is_empty=True), Fatal)
    assert classify("codex", 1, full, is_empty=False) == FULL


@pytest.mark.parametrize(
    ("code", "stderr", "is_empty", "fault"),
    [
        (0, "", True, None),
        (0, "warning", False, None),
        (3, "", False, None),
        (3, "one\ntwo\n", True, Transient("exit status 3: two")),
        (3, "", True, Transient("exit status 3")),
        (126, "sh: permission denied", True, Fatal("exit status 126: sh: permission denied", "check agent.command in the settings")),
        (127, "sh: foo: not found", True, Fatal("exit status 127: sh: foo: not found", "check agent.command in the settings")),
        (127, "", False, None),
    ],
)  # fmt: skip
def test_a_plain_agent_is_known_by_exit_status_and_silence(
    code: int, stderr: str, is_empty: bool, fault: Fault | None
) -> None:
    assert classify("plain", code, stderr=stderr, is_empty=is_empty) == fault


def test_a_turn_that_ended_because_we_ended_it_is_judged_by_what_went_before() -> None:
    retry = ErrorReported("model API failed, retry 5/10", 401, "authentication_failed")
    cut = ErrorReported("aborted_streaming", None, "error_during_execution", True)
    end = TurnEnded(error="aborted_streaming")

    for ending in (Ending.IDLE, Ending.TIMED_OUT):
        assert isinstance(classify("claude", 0, retry, cut, end, ending=ending), Fatal)
        assert classify("claude", 0, cut, end, ending=ending, is_empty=False) is None
        assert classify("copilot", 0, cut, ending=ending, is_empty=False) is None  # its end never came
        assert isinstance(classify("claude", 0, cut, end, retry, ending=ending), Fatal)  # it went on
    assert isinstance(classify("claude", 0, cut, end, is_empty=False), Transient)


def test_a_failure_that_the_agent_reported_before_its_time_was_over_stays_one() -> None:
    refused = ErrorReported("no key", 401, "authentication_failed", True)

    fault = classify("claude", 1, refused, TurnEnded(error="no key"), ending=Ending.TIMED_OUT)

    assert isinstance(fault, Fatal)


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("gemini", ErrorReported("The input token count (2) exceeds the maximum number of tokens allowed (1).", 400)),
        ("claude", ErrorReported("Prompt is too long", 400, "prompt_too_long", True)),
        ("opencode", ErrorReported("too long", None, "ContextOverflowError", True)),
        ("qwen", ErrorReported("[API Error: Context is too large to send safely.]", None, "", True)),
        ("copilot", ErrorReported("Request exceeds the model's prompt budget after reserving output.", 400, "", True)),
    ],
)  # fmt: skip
def test_a_prompt_that_no_model_can_take_says_so_and_a_context_filled_by_work_is_no_fault(
    agent: str, error: ErrorReported
) -> None:
    end = TurnEnded(error=error.message)

    fault = classify(agent, 1, error, end)

    assert isinstance(fault, Fatal)
    assert "shorten the prompt" in fault.hint
    assert classify(agent, 1, error, end, is_empty=False) == FULL


def test_a_turn_that_names_its_end_says_more_than_the_error_before_it() -> None:
    vague = ErrorReported("Prompt is too long", 400, "invalid_request_error", True)
    end = TurnEnded(error="it is over", code="prompt_too_long")

    assert classify("claude", 1, vague, end, is_empty=False) == FULL
    assert isinstance(classify("claude", 1, vague, end), Fatal)


AGENTS_OF_OPENAI = ("codex", "opencode", "qwen", "copilot")


@pytest.mark.parametrize("agent", AGENTS_OF_OPENAI)
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("You exceeded your current quota, please check your plan and billing details.", Fatal),
        ("Rate limit reached for a model on tokens per min. Add a payment method in your billing settings.", RateLimited),
        ("You have used up your weekly allowance. Buy more credits, or try again at 8:12 AM.", RateLimited),
        ("You have reached your plan's message limit.", RateLimited),
        ("it failed", RateLimited),
    ],
)  # fmt: skip
def test_the_words_of_a_429_say_whether_waiting_helps(agent: str, message: str, kind: type) -> None:
    error = ErrorReported(message, 429, "", True)

    assert type(classify(agent, 1, error, TurnEnded(error=message))) is kind


@pytest.mark.parametrize("status", [400, 404, 500, 529])
def test_words_about_limits_mean_nothing_beside_another_status(status: int) -> None:
    words = "Cannot save 'rate limit reached, out of credits'"

    fault = classify("codex", 1, ErrorReported(words, status, "", True), TurnEnded(error=words))

    assert type(fault) is (Fatal if status < 500 else Transient)
    assert not isinstance(fault, Fatal) or "credit" not in fault.hint


def test_a_gemini_without_a_key_is_quoted_with_what_is_wrong_and_not_with_its_advice() -> None:
    stderr = (
        "YOLO mode is enabled. All tool calls will be automatically approved.\n"
        "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\n"
        "Update your environment and try again (no reload needed if using .env)!\n"
    )

    fault = classify("gemini", 41, stderr=stderr)

    assert isinstance(fault, Fatal)
    assert fault.reason.startswith("When using Gemini API, you must specify")
    assert "GEMINI_API_KEY" in fault.hint
