"""The promise loop inside a session: the command, whose loop it is, and what Stop does with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.promise.loop_state import RalphLoopConfig, RalphLoopState, new_state
from ralph.domain.promise.session_loop import (
    LoopRequest,
    belongs_to,
    in_the_way,
    loop_command,
    loop_request,
    next_turn,
    opening,
    started_loop,
)

CAP = 8


def loop(session: str = "mine", **changes: object) -> RalphLoopState:
    request = LoopRequest("Build it", RalphLoopConfig(max_iterations=3))
    return replace(started_loop(request, session=session, started_at="2026-01-01T00:00:00Z"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/ralph:loop Fix it", ("loop", "Fix it")),
        ("  /ralph:loop\nFix it\nall  ", ("loop", "Fix it\nall")),
        ("/ralph:loop", ("loop", "")),
        ("/ralph:cancel", ("cancel", "")),
        ("/ralph:loops Fix it", None),
        ("/ralph:ralph-plan", None),
        ("say /ralph:loop Fix it", None),
        ("", None),
    ],
)
def test_only_a_prompt_that_begins_with_the_command_is_one(
    prompt: str, command: tuple[str, str] | None
) -> None:
    assert loop_command(prompt) == command


@pytest.mark.parametrize(
    ("arguments", "task", "maximum", "promise"),
    [
        ("Fix it", "Fix it", None, None),
        ('don\'t stop "here" -- or there', 'don\'t stop "here" -- or there', None, None),
        ("--max-iterations 20 Fix it", "Fix it", 20, None),
        ("Fix it --max-iterations=20", "Fix it", 20, None),
        ('--completion-promise "ALL GREEN" Fix it', "Fix it", None, "ALL GREEN"),
        ("Fix it --completion-promise 'OK' --max-iterations 2", "Fix it", 2, "OK"),
        (
            "keep the flag --max-iterationsX of the tool",
            "keep the flag --max-iterationsX of the tool",
            None,
            None,
        ),
    ],
)
def test_options_may_stand_anywhere_and_the_rest_is_the_task(
    arguments: str, task: str, maximum: int | None, promise: str | None
) -> None:
    assert loop_request(arguments) == LoopRequest(task, RalphLoopConfig(maximum, promise))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "there is no task"),
        ("--max-iterations 3", "there is no task"),
        ("Fix it --max-iterations", "--max-iterations needs a value"),
        ("--max-iterations many Fix it", "must be a whole number, not 'many'"),
        ("--max-iterations 99999999999 Fix it", "must be a whole number"),
        ("--max-iterations ² Fix it", "must be a whole number"),
        ("--max-iterations 0 Fix it", "must be 1 or more"),
        ('--completion-promise "" Fix it', "must not be empty"),
        ("x" * 100_001, "put it into a file"),
    ],
)
def test_a_request_that_cannot_be_meant_is_explained(arguments: str, problem: str) -> None:
    found = loop_request(arguments)
    assert isinstance(found, str)
    assert problem in found


@given(st.text(max_size=200))
def test_no_arguments_raise(arguments: str) -> None:
    loop_request(arguments)
    loop_command("/ralph:loop " + arguments)


def test_a_loop_belongs_to_the_session_that_started_it() -> None:
    assert belongs_to(loop("mine"), "mine")
    assert not belongs_to(loop("mine"), "yours")
    assert not belongs_to(loop("mine", active=False), "mine")
    of_a_run = new_state("Build it", RalphLoopConfig(), started_at="")
    assert not belongs_to(of_a_run, "mine")
    assert not belongs_to(of_a_run, "")


def test_a_new_loop_waits_for_nobody_but_a_run_or_another_session() -> None:
    assert in_the_way(None, "mine") == ""
    assert in_the_way(loop("mine"), "mine") == ""
    assert in_the_way(loop("yours", active=False), "mine") == ""
    assert "another session has a loop here (1/3)" in in_the_way(loop("yours"), "mine")
    assert "`ralph stop`" in in_the_way(new_state("x", RalphLoopConfig(), started_at=""), "mine")


def test_the_opening_names_task_promise_and_count() -> None:
    text = opening(loop())
    assert "1/3" in text
    assert "<promise>DONE</promise>" in text
    assert "Build it" in text


def test_a_stop_without_the_promise_continues_and_counts() -> None:
    turn = next_turn(loop(), "I think that is enough.", blocks=0, cap=CAP)
    assert turn.state == loop(iteration=2)
    assert turn.prompt.startswith("Ralph loop, iteration 2/3.")
    assert turn.prompt.endswith("Original task:\nBuild it")


@pytest.mark.parametrize(
    "said", ["<promise>DONE</promise>", "Well. <Promise> done </Promise>", "a\n<promise>DONE\n</promise>"]
)
def test_the_promise_ends_the_loop(said: str) -> None:
    turn = next_turn(loop(iteration=2), said, blocks=0, cap=CAP)
    assert turn.state is None
    assert turn.prompt == ""
    assert "complete after 2 iterations" in turn.message


@pytest.mark.parametrize("said", ["", "DONE", "<promise>ALMOST</promise>", "<promise>DONE"])
def test_nothing_else_ends_it_but_its_iterations(said: str) -> None:
    assert next_turn(loop(iteration=2), said, blocks=0, cap=CAP).prompt
    last = next_turn(loop(iteration=3), said, blocks=0, cap=CAP)
    assert last.state is None
    assert last.prompt == ""
    assert "ended after 3 iterations without" in last.message


def test_a_session_that_does_nothing_rests_before_its_answer_is_lost() -> None:
    turn = next_turn(loop(), "Hm.", blocks=CAP, cap=CAP)
    assert turn.state == loop()
    assert turn.prompt == ""
    assert "paused at 1/3" in turn.message
