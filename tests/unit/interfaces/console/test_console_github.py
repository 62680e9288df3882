"""What GitHub Actions is told, and what an agent cannot tell it."""

from __future__ import annotations

import io
from pathlib import Path

from ralph.domain.agent.events import Usage
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    CheckEnded,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunEnded,
    RunStarted,
    Warned,
)
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.interfaces.cli.console.github import GithubActions, is_github

SPEND = Spend(0.5, Usage(), 1.0)
FAILED = CheckResult("make test", Verdict.FAILED, reason="exit code 1")


def told(*events: LoopEvent, summary: Path | None = None) -> list[str]:
    out = io.StringIO()
    listener = GithubActions(out, summary=str(summary or ""), token="T")
    for event in events:
        listener(event, 1.0)
    return out.getvalue().splitlines()


def run(*inside: LoopEvent, outcome: Outcome = Outcome.COMPLETED) -> list[LoopEvent]:
    return [
        RunStarted("r1", "basic", "claude", "/w"),
        IterationStarted(1, 1, 10, "prompt"),
        *inside,
        IterationEnded(1, 1, "accept", "", True, True, SPEND, 2.0),
        RunEnded(outcome, "all done", 1, SPEND, 3.0, concerns=("no | tests",)),
    ]


def test_each_iteration_is_a_group_and_commands_are_off_between_ours() -> None:
    lines = told(*run(), *[])
    assert lines == [
        "::stop-commands::T",
        "::T::",
        "::group::Iteration 1",
        "::stop-commands::T",
        "::T::",
        "::endgroup::",
        "::warning title=ralph::no | tests",
        "::notice title=ralph%3A completed::all done",
    ]


def test_a_check_that_fails_and_a_warning_are_annotations() -> None:
    lines = told(*run(CheckEnded(FAILED), Warned("100 % sure,\nreally"), outcome=Outcome.EXHAUSTED))
    assert "::warning title=make test%3A failed::exit code 1" in lines
    assert "::warning title=ralph::100 %25 sure, really" in lines
    assert lines[-1].startswith("::error title=ralph%3A exhausted::")


def test_a_hostile_name_cannot_end_its_line_and_begin_a_command() -> None:
    result = CheckResult("x\n::set-output name=a::b", Verdict.FAILED, reason="\r::add-mask::s")
    lines = told(*run(CheckEnded(result)))
    assert not [line for line in lines if line.startswith(("::set-output", "::add-mask"))]


def test_the_summary_is_appended_as_markdown(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    told(*run(CheckEnded(FAILED)), summary=summary)
    text = summary.read_text()
    assert text.startswith("before\n## ralph: completed")
    assert "no \\| tests" in text
    assert "| 1 | accepted | ❌ make test | 2.0s | $0.50 |" in text


def test_a_summary_that_cannot_be_written_is_said_and_no_error(tmp_path: Path) -> None:
    lines = told(*run(), summary=tmp_path / "missing" / "summary.md")
    assert "the step summary cannot be written" in lines[-1]


def test_only_github_is_github() -> None:
    assert is_github({"GITHUB_ACTIONS": "true"})
    assert not is_github({})
