"""What is required of a command, and whether the way it ended is a pass."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.domain.loop.session_report import Ending
from ralph.domain.proof.required_command import RequiredCommand, judge_end, shell_code
from ralph.domain.proof.verification_config import (
    EXTERNAL_SECONDS,
    commands_in,
    commands_of_merge,
    required_by,
)
from ralph.domain.tasks.completion import CompletionCriteria

NOTHING_RAN = "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"
ONE_FAILED = "\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n"
ONE_PASSED = "\nRan 1 test in 0.000s\n\nOK\n"


def judged(
    ending: Ending = Ending.EXITED,
    code: int | None = 0,
    *,
    output: str = "",
    error: str = "",
    **required: Any,
) -> tuple[str, str]:
    return judge_end(
        RequiredCommand(**{"command": "make test", **required}), ending, code, output=output, error=error
    )


@pytest.mark.parametrize(
    ("ending", "code", "required", "reason"),
    [
        (Ending.EXITED, 0, {}, ""),
        (Ending.EXITED, 3, {"success_exit_code": 3}, ""),
        (Ending.EXITED, 0, {"success_exit_code": 3}, "Command exited with 0, expected 3"),
        (Ending.EXITED, 1, {}, "Command exited with 1, expected 0"),
        (Ending.EXITED, -9, {}, "Command exited with 137, expected 0"),
        (
            Ending.EXITED,
            127,
            {},
            "Command exited with 127, expected 0: command not found; check how it is spelled",
        ),
        (Ending.TIMED_OUT, 0, {"timeout": 0.5}, "Command timed out after 0.5s"),
        (Ending.TIMED_OUT, None, {"timeout": 2.0, "success_exit_code": 124}, "Command timed out after 2s"),
        (Ending.IDLE, 0, {"idle_timeout": 60.0}, "Command was ended: it printed nothing for 60 s"),
        (Ending.STOPPED, 0, {}, "Command was stopped"),
        (Ending.NOT_STARTED, None, {}, "Command failed: no such file"),
    ],
)
def test_how_it_ended(ending: Ending, code: int | None, required: dict[str, Any], reason: str) -> None:
    assert judged(ending, code, error="no such file", **required)[0] == reason


@pytest.mark.parametrize(
    ("output", "required", "reason"),
    [
        ("all good", {"output_contains": "good"}, ""),
        ("all good", {"output_contains": "bad"}, "Output doesn't contain: bad"),
        ("all good", {"output_not_contains": "good"}, "Output contains forbidden: good"),
        ("", {"command": "true"}, ""),
        ("checked 3 files, no issues", {"command": "mypy ."}, ""),
        (ONE_PASSED, {}, ""),
        (NOTHING_RAN, {"allow_empty": True}, ""),
        (ONE_FAILED, {"allow_empty": True}, ""),
        (ONE_FAILED, {}, "unittest says that 1 test failed, although the command succeeded"),
        (ONE_FAILED, {"success_exit_code": 1}, "Command exited with 0, expected 1"),
    ],
)
def test_what_it_said(output: str, required: dict[str, Any], reason: str) -> None:
    assert judged(output=output, **required)[0] == reason


@pytest.mark.parametrize(
    ("output", "command", "reason"),
    [
        (NOTHING_RAN, "make test", "unittest ran no test"),
        ("", "pytest -q", "pytest ended without saying what it ran"),
    ],
)
def test_a_success_that_proves_nothing_names_its_way_out_only_where_there_is_one(
    output: str, command: str, reason: str
) -> None:
    said, _ = judged(output=output, command=command)
    assert said.startswith(reason)
    assert said.endswith("; `allowEmpty: true` accepts that")
    said, _ = judged(output=output, command=command, can_allow_empty=False)
    assert said.startswith(reason)
    assert "allowEmpty" not in said


def test_an_exit_code_that_means_no_test_ran_is_said_in_words() -> None:
    told = "unittest ran no test (what is skipped, deselected or may fail does not count)"
    assert judged(code=5, output=NOTHING_RAN) == (f"Command exited with 5, expected 0: {told}", told)
    assert judged(code=5, output=ONE_FAILED) == ("Command exited with 5, expected 0", "")
    assert judged(code=5, output="five is right out") == ("Command exited with 5, expected 0", "")
    assert judged(code=5, output=NOTHING_RAN, success_exit_code=5)[0].startswith("unittest ran no test")


def test_the_remark_leaves_out_what_the_exit_code_says() -> None:
    assert judged(code=2) == ("Command exited with 2, expected 0", "")
    assert judged(code=127)[1] == "command not found; check how it is spelled"
    assert judged(Ending.TIMED_OUT, timeout=1.0)[1] == "Command timed out after 1s"


@pytest.mark.parametrize(
    ("ending", "code", "shown"),
    [
        (Ending.EXITED, 3, 3),
        (Ending.EXITED, -15, 143),
        (Ending.EXITED, None, 127),
        (Ending.TIMED_OUT, -9, 124),
        (Ending.IDLE, -9, 124),
        (Ending.NOT_STARTED, None, 127),
    ],
)
def test_exit_codes_are_a_shells(ending: Ending, code: int | None, shown: int) -> None:
    assert shell_code(ending, code) == shown


def test_a_config_says_it_all() -> None:
    config = {
        "command": "pytest", "working_dir": "backend", "timeout": 9, "success_exit_code": 1,
        "output_contains": "a", "output_not_contains": "b", "allowEmpty": True, "rerun": False,
    }  # fmt: skip
    assert required_by(config) == RequiredCommand(
        command="pytest", working_dir="backend", timeout=9.0, success_exit_code=1,
        output_contains="a", output_not_contains="b", allow_empty=True, rerun=False,
    )  # fmt: skip
    assert required_by({"command": "x"}) == RequiredCommand(command="x", timeout=EXTERNAL_SECONDS)


def test_a_role_has_the_commands_of_its_required_stages() -> None:
    stages = [
        {"method": "external", "config": {"command": "one"}},
        {"method": "external", "config": {"command": "two"}, "required": False},
        {"method": "semantic", "config": {"check_for": ["x"]}},
    ]
    criteria = CompletionCriteria(verification_method="multi_stage", verification_config={"stages": stages})
    assert [required.command for required in commands_in(criteria)] == ["one"]


def test_a_merge_must_pass_the_guardrails_as_they_are_and_then_each_command_once() -> None:
    slow = RequiredCommand(command="make test", idle_timeout=1800.0)
    external = CompletionCriteria(verification_method="external", verification_config={"command": "x"})
    required = commands_of_merge([slow, slow], [external, CompletionCriteria(), external])
    assert required == (slow, required_by({"command": "x"}))
    assert required[0].timeout is None  # a guardrail without a limit has none here either
