"""When two iterations failed in the same way, and when there was progress."""

from __future__ import annotations

import pytest

from ralph.domain.loop.evidence import CheckResult, Evidence, Verdict
from ralph.domain.loop.feedback import Feedback, guardrail_failure
from ralph.domain.loop.session_report import AgentReport


def failed(output: str, *, iteration: int = 1) -> tuple[str, ...]:
    """What is remembered of a guardrail that printed this."""
    log = f".ralph/guardrail_{iteration:03}_npm_test.log"
    told = guardrail_failure(
        command="npm test", exit_code=1, hint="", log_file=log, output=output, is_cut=False
    )
    result = CheckResult(
        "npm test",
        Verdict.FAILED,
        feedback=Feedback(told),
        exit_code=1,
        log_file=log,
        last_lines=tuple(output.splitlines()[-5:]),
    )
    return Evidence(AgentReport(), results=(result,)).failures


CLOSING = (
    "\nnpm ERR! code 1\nnpm ERR! path .\nnpm ERR! command failed\nnpm ERR! command sh -c jest\nnpm ERR! bye"
)


def test_a_tool_that_always_ends_with_the_same_lines_does_not_hide_progress() -> None:
    assert failed(f"5 failed, 2 passed{CLOSING}") != failed(f"2 failed, 5 passed{CLOSING}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1 failed in 0.12s", "1 failed in 0.34s"),
        ("12:34:56 E boom", "12:35:01 E boom"),
        ("in /tmp/pytest-1/case/x.py", "in /tmp/pytest-2/case/x.py"),
        ("<object at 0x7f01>", "<object at 0x7f02>"),
        ("worker pid 41 died", "worker pid 77 died"),
    ],
)
def test_what_differs_each_time_is_no_progress(before: str, after: str) -> None:
    assert failed(before, iteration=1) == failed(after, iteration=2)


@pytest.mark.parametrize(
    ("before", "after"), [("3 failed", "2 failed"), ("/src/a.py:12:34 E", "/src/a.py:90:12 E")]
)
def test_other_figures_and_places_are_progress(before: str, after: str) -> None:
    assert failed(before) != failed(after)


def test_what_is_remembered_stays_small_whatever_was_printed() -> None:
    (remembered,) = failed("/a" * 500_000)
    assert len(remembered) < 100
