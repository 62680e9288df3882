"""A run in GitHub Actions: a group per iteration, failures as annotations, and a step summary.

The runner takes every line that begins with ``::`` for a command. An agent must not be able to set outputs or hide
things, so commands are switched off during the run, except around our own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ralph.domain.loop.events import CheckEnded, IterationStarted, LoopEvent, RunEnded, RunStarted, Warned
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import duration, money, plural
from ralph.domain.text.safe_text import clean_line
from ralph.domain.views.decisions import describe_iteration
from ralph.domain.views.iterations import IterationView, Timeline
from ralph.interfaces.cli.console.outlet import Outlet

if TYPE_CHECKING:
    from ralph.domain.views.pull_request import PullRequestView

ROWS = 100
"""Iterations in the summary, which may have one megabyte."""

_MARKS = {Verdict.PASSED: "✅", Verdict.FAILED: "❌", Verdict.ERRORED: "⚠️", Verdict.SKIPPED: "-"}


def is_github(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"


def without_commands(text: str) -> str:
    """Words of others for a log of GitHub Actions, after commands were switched on again."""
    return text.replace("::", ": :").replace("##[", "## [")


class GithubActions:
    """A listener to put before the console: a group begins before its content."""

    def __init__(self, out: TextIO, *, summary: str = "", token: str = "") -> None:
        self._outlet = Outlet(out)
        self._summary = Path(summary) if summary else None
        self._token = token or secrets.token_hex(16)
        self._timeline = Timeline()
        self._seq = 0
        self._in_group = False
        self._is_off = False

    def __call__(self, event: LoopEvent, at: float) -> None:
        self._seq += 1
        self._timeline.take(self._seq, at, event)
        match event:
            case RunStarted():
                self._say()
            case IterationStarted():
                title = f"Iteration {event.iteration}"
                if event.attempt > 1:
                    title += f", attempt {event.attempt}"
                self._say(*self._end_group(), f"::group::{_text(title)}")
                self._in_group = True
            case CheckEnded(result=result) if not result.holds:
                self._say(
                    _annotation("warning", f"{check_words(result.name)}: {result.verdict}", _why(result))
                )
            case Warned(mild=False):
                self._say(_annotation("warning", "ralph", event.message))
            case RunEnded():
                self._say(*self._end_group(), *_outcome(event), last=True)
                self._write_summary(event)
            case _:
                pass

    def _end_group(self) -> list[str]:
        was_in_group, self._in_group = self._in_group, False
        return ["::endgroup::"] if was_in_group else []

    def _say(self, *commands: str, last: bool = False) -> None:
        on = [f"::{self._token}::"] if self._is_off else []
        off = [] if last else [f"::stop-commands::{self._token}"]
        self._is_off = not last
        self._outlet.write("".join(f"{line}\n" for line in (*on, *commands, *off)))

    def _write_summary(self, event: RunEnded) -> None:
        if self._summary is None:
            return
        try:
            with self._summary.open("a", encoding="utf-8") as file:
                file.write(summary_of(self._timeline, event))
        except OSError as error:
            self._outlet.write(f"ralph: the step summary cannot be written: {error.strerror or error}\n")


def summary_of(timeline: Timeline, event: RunEnded) -> str:
    """Markdown: how it ended, what was checked, each iteration."""
    facts = [plural(event.iterations, "iteration"), duration(event.seconds)]
    if event.spend.cost_usd is not None:
        facts.append(money(event.spend.cost_usd, at_least=event.spend.is_partly_unknown))
    lines = [f"## ralph: {event.outcome.value}", "", f"{_plain(event.reason)} ({', '.join(facts)})", ""]
    for pull in timeline.pull_requests.values():
        lines += [f"Pull request {_pull_request(pull)}", ""]
    lines += [f"- ⚠️ {_plain(concern)}" for concern in event.concerns]
    if timeline.iterations:
        lines += ["", "| # | decision | checks | time | cost |", "|---|---|---|---|---|"]
        lines += [_row(each) for each in timeline.iterations[-ROWS:]]
    return "\n".join(lines) + "\n\n"


def _pull_request(pull: PullRequestView) -> str:
    named = f"[{pull.name}]({pull.address})" if pull.address else f"{pull.name} ({_plain(pull.where)})"
    counts = f" ({pull.counts})" if pull.counts else ""
    flaky = f"; {pull.flaky_words}" if pull.flaky else ""
    return f"{named} ({_plain(pull.state_words)}): {_plain(pull.said + counts + flaky)}"


def _row(each: IterationView) -> str:
    number = f"{each.iteration}.{each.attempt}" if each.attempt > 1 else str(each.iteration)
    checks = ", ".join(f"{_MARKS[check.verdict]} {_plain(check_words(check.name))}" for check in each.checks)
    cost = money(each.spend.cost_usd) if each.spend.cost_usd is not None else ""
    decision = describe_iteration(each).words + (", its claim denied" if each.denied else "")
    return f"| {number} | {decision} | {checks} | {duration(each.seconds)} | {cost} |"


def _outcome(event: RunEnded) -> list[str]:
    concerns = [_annotation("warning", "ralph", concern) for concern in event.concerns]
    level = "notice" if event.outcome == "completed" else "error"
    return [*concerns, _annotation(level, f"ralph: {event.outcome.value}", event.reason)]


def _why(result: CheckResult) -> str:
    return result.reason or " | ".join(result.last_lines[-3:]) or result.command


def _annotation(level: str, title: str, message: str) -> str:
    return f"::{level} title={_property(title)}::{_text(message)}"


def _text(value: str) -> str:
    return clean_line(value).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _text(value).replace(":", "%3A").replace(",", "%2C")


def _plain(value: str) -> str:
    """Escape text for Markdown, also inside a table."""
    return "".join(
        f"\\{character}" if character in "\\`*_{}[]<>()#+!|~@-" else character
        for character in clean_line(value)
    )
