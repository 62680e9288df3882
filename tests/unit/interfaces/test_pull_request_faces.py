"""A pull request on every face that is made of text: what is told of it, and what its forge cannot make of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.storage.wire import encode_event
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import (
    IterationStarted,
    LoopEvent,
    PauseBegan,
    PullRequestSeen,
    RunEnded,
    RunPaused,
    RunStarted,
)
from ralph.domain.loop.session_report import Spend
from ralph.domain.views.iterations import Timeline, figures_of
from ralph.domain.views.pull_request import view_of
from ralph.domain.views.runs import FeedEvent, RunLabel, RunState, RunView
from ralph.interfaces.cli.console.github import GithubActions
from ralph.interfaces.cli.console.json_lines import JsonLines
from ralph.interfaces.cli.console.live_lines import LiveLines
from ralph.interfaces.cli.console.parts import console_of_part
from ralph.interfaces.cli.console.run_view import Console
from ralph.interfaces.cli.console.status_line import StatusLine
from ralph.interfaces.cli.terminal import Look, display_width
from ralph.interfaces.report.content import Part, ReportContent
from ralph.interfaces.report.formats import json_report
from ralph.interfaces.report.html_page import html_report
from ralph.interfaces.report.markdown import markdown_report
from ralph.interfaces.tui.stream_text import StreamText
from ralph.interfaces.web.page_data import event_data, run_data, timeline_data

AT = 1_700_000_000.0
PLAIN = Look(max_lines=5, max_chars=1000)
URL = "https://github.com/o/r/pull/12"
SEEN = PullRequestSeen(
    12, URL, "Sort by date", "sort", "main", "9f3e77c0ab12" + 28 * "0", "open", "wait", "waits for build, lint",
    checks=(
        SeenCheck("build", "pending", f"{URL}/checks"), SeenCheck("docs", "fails on the base too"), SeenCheck("lint", "pending"),
        SeenCheck("unit", "passed"),
    ),
)  # fmt: skip
BAD = (
    "\x1b]0;title\x07\x1b[2J\r\n\u202eevil\u2066 \x9b31m </td><script>alert(1)</script> `x` | [a](javascript:1) **b** ::error::no\n"
    "::set-output name=a::b"
)
HOSTILE = replace(
    SEEN, url=f"javascript:{BAD}", title=BAD, branch=BAD, base=BAD, head=BAD, reason=f"waits {BAD}", hint=BAD, strangers=3,
    checks=(SeenCheck(BAD, "failed", "javascript:alert(1)", is_flaky=True), SeenCheck("a", BAD, BAD)),
)  # fmt: skip
ENDED = RunEnded(Outcome.WAITING, "waits for build, lint", 1, Spend(), 3.0, hint="`ralph resume` continues")
RUN = RunView(
    id="r1", profile="basic", agent="claude", root="/w", state=RunState.WAITING, live=False, iteration=1, maximum=None,
    cost_usd=None, tokens=0, last_check=None, started_at=AT, active_at=AT, ended_at=AT, waits_until=None, reason="",
)  # fmt: skip


def lint_is_left(seen: PullRequestSeen = SEEN) -> PullRequestSeen:
    return replace(seen, reason="waits for lint", checks=(SeenCheck("build", "passed"), *seen.checks[1:]))


def told(*events: LoopEvent, look: Look = PLAIN) -> str:
    out, err = io.StringIO(), io.StringIO()
    console = Console(out, err, look, verbose=False, stream_agent_output=True, zone=UTC)
    for event in events:
        console(event, AT)
    assert out.getvalue() == "", "stdout is the agent's"
    return err.getvalue()


# --- the console ---


def test_the_console_tells_what_changed_and_the_address_once() -> None:
    text = told(
        SEEN, PauseBegan(SEEN.reason, AT + 30), PauseBegan(SEEN.reason, AT + 60), lint_is_left(), SEEN
    )
    assert text == (
        "▶ Pull request #12: Sort by date\n"
        f"   sort into main · {URL}\n"
        "⏳ #12 waits for build, lint · 1 of 4 checks passed\n"
        "   ⚠ fails on the base too: docs\n"
        "   ⏳ pending: build, lint\n"
        "   ✅ passed: unit\n"
        "   ✅ #12 passed: build\n"
        "   ⏳ #12 pending: build\n"
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"step": "fix", "reason": "failed: docs"},
            "🔄 #12 needs a fix; failed: docs · 1 of 4 checks passed",
        ),
        (
            {"for_people": True, "reason": "waits for reviews"},
            "⏳ #12 waits for reviews · 1 of 4 checks passed",
        ),
        ({"step": "ask", "reason": "who?"}, "⚠ #12 needs a person; who? · 1 of 4 checks passed"),
        (
            {"step": "done", "reason": "ready to be merged"},
            "✅ #12 ready to be merged · 1 of 4 checks passed",
        ),
        ({"state": "closed", "reason": "closed by ann"}, "⚠ #12 closed by ann · 1 of 4 checks passed"),
    ],
)
def test_each_step_has_its_mark(changes: dict[str, object], line: str) -> None:
    assert told(SEEN, replace(SEEN, **changes)).endswith(f"{line}\n")  # type: ignore[arg-type]


def test_a_wait_for_something_else_is_told_once() -> None:
    away = PauseBegan("the forge is away", AT + 60)
    text = told(SEEN, away, away, away)
    assert text.count("the forge is away") == 1


def test_what_is_flaky_is_never_silently_green() -> None:
    flaky = replace(SEEN, checks=(SeenCheck("e2e", "passed", is_flaky=True),))
    assert "   ⚠ passed, but flaky: e2e\n" in told(flaky)


def test_the_end_of_the_run_says_where_it_is() -> None:
    text = told(RunStarted("r", "basic", "claude", "/"), SEEN, ENDED)
    assert f"   pull request #12 (open): {URL}\n" in text
    assert text.count("hint:") == 1
    assert "pull request" not in told(RunStarted("r", "basic", "claude", "/"), ENDED)


def test_without_colour_or_emoji_the_words_say_it_all() -> None:
    text = told(SEEN, look=replace(PLAIN, emoji=False))
    assert text.isascii()
    assert "[WAIT] #12 waits for build, lint - 1 of 4 checks passed\n" in text
    assert "   [OK] passed: unit\n" in text
    assert "\x1b" in told(SEEN, look=replace(PLAIN, color=True))
    assert "\x1b" not in text


def test_a_narrow_terminal_gets_every_word_and_the_address_whole() -> None:
    lines = told(SEEN, look=replace(PLAIN, folds=True, width=40)).splitlines()
    assert all(display_width(line) <= 40 for line in lines)
    assert any(URL in line for line in lines)


def test_a_task_of_a_whole_has_its_own_with_its_name_before_each_line() -> None:
    screen = io.StringIO()
    asking = replace(SEEN, step="ask", reason="who?", hint="merge it by hand")
    consoles = [
        console_of_part(RunLabel("Sort", task), screen, screen, PLAIN, verbose=False, said=set())
        for task in ("T-1", "T-2")
    ]
    consoles[0](SEEN, AT)
    consoles[1](replace(SEEN, number=13), AT)
    consoles[0](asking, AT)
    lines = screen.getvalue().splitlines()
    assert all(re.match(r"\[T-[12]\] ", line) for line in lines)
    assert [line for line in lines if "Pull request" in line] == [
        "[T-1] ▶ Pull request #12: Sort by date",
        "[T-2] ▶ Pull request #13: Sort by date",
    ]
    assert lines[-2:] == [
        "[T-1] ⚠ #12 needs a person; who? · 1 of 4 checks passed",
        "[T-1]    hint: merge it by hand",
    ]


# --- the live line ---


def status(*events: LoopEvent, now: float = AT + 65) -> str:
    line = StatusLine(io.StringIO(), replace(PLAIN, live=True), now=lambda: now, zone=UTC)
    for event in events:
        line.observe(event, AT)
    return line.text()


def test_the_live_line_says_what_it_waits_for() -> None:
    waits = "⏳ waits for build, lint · 1 of 4 checks passed · 1m5s"
    assert status(SEEN) == waits
    assert status(SEEN, PauseBegan(SEEN.reason, AT + 99)) == waits
    assert status(SEEN, lint_is_left()) == "⏳ waits for lint · 2 of 4 checks passed · 1m5s"
    assert status(replace(SEEN, step="fix")) == ""
    assert "waits for" not in status(SEEN, IterationStarted(1, 1, None, "pull request"))
    assert "waiting until" in status(SEEN, PauseBegan("the forge is away", AT + 99))
    assert "paused" in status(SEEN, RunPaused())
    assert status(SEEN, ENDED) == ""


def test_the_live_line_of_a_task_says_it_too() -> None:
    lines = LiveLines(io.StringIO(), replace(PLAIN, live=True, width=40), height=lambda: 24)
    lines.part(RunLabel("Sort", "T-1")).observe(SEEN, AT)
    (line,) = lines.lines()
    assert line.startswith("⏳ [T-1] waits for build, lint")
    assert display_width(line) < 40


# --- GitHub Actions, JSON ---


def summary(tmp_path: Path, *events: LoopEvent) -> str:
    file = tmp_path / "summary.md"
    listener = GithubActions(io.StringIO(), summary=str(file), token="T")
    for event in (*events, ENDED):
        listener(event, AT)
    return file.read_text()


def test_the_step_summary_has_a_line(tmp_path: Path) -> None:
    text = summary(tmp_path, SEEN, lint_is_left())
    assert f"Pull request [#12]({URL}) (open): waits for lint (2 of 4 checks passed)\n" in text.replace(
        "\\", ""
    )
    (tmp_path / "summary.md").unlink()
    assert "Pull request" not in summary(tmp_path)


def test_a_json_line_has_everything() -> None:
    out = io.StringIO()
    JsonLines(out)(SEEN, AT)
    event = json.loads(out.getvalue())
    assert (event["type"], event["number"], event["step"]) == ("pull_request_seen", 12, "wait")
    assert event["checks"][0] == {
        "name": "build", "standing": "pending", "url": f"{URL}/checks", "is_flaky": False, "is_required": True,
    }  # fmt: skip


# --- the report ---


def report(own: PullRequestSeen | None, *parts: PullRequestSeen) -> ReportContent:
    return ReportContent(
        run=RUN, asked="", iterations=(), left_out=0, notes=(), header=(), concerns=(), figures=figures_of(()),
        own_pulls=() if own is None else (view_of(own),),
        parts=tuple(
            Part(replace(RUN, id=f"p{number}"), RunLabel("Sort", f"T-{number}"), (), view_of(part))
            for number, part in enumerate(parts)
        ),
    )  # fmt: skip


def test_every_report_has_number_address_state_head_and_checks() -> None:
    flaky = replace(SEEN, checks=(*SEEN.checks, SeenCheck("e2e", "passed", is_flaky=True)))
    markdown, page = markdown_report(report(flaky)), html_report(report(flaky))
    for text in (markdown, page):
        for words in ("#12", URL, "Sort by date", "open", "9f3e77c0ab12", "waits for build, lint"):
            assert words in text, words
        for words in ("fails on the base too", "passed, but flaky", "pending", "flaky: e2e"):
            assert words in text, words
    assert f"[#12]({URL})" in markdown
    assert f'<a href="{URL}" rel="noopener noreferrer">#12</a>' in page
    (data,) = json.loads(json_report(report(flaky)))["pull_requests"]
    assert (data["number"], data["head"], data["flaky"]) == (12, SEEN.head, ["e2e"])
    assert data["checks"][0]["standing"] == "pending"


def test_a_report_without_one_says_nothing_of_it() -> None:
    assert "Pull request" not in markdown_report(report(None)) + html_report(report(None))
    assert json.loads(json_report(report(None)))["pull_requests"] == []


def test_a_report_of_a_whole_has_those_of_its_tasks() -> None:
    found = report(None, SEEN, replace(SEEN, number=13))
    for text in (markdown_report(found).replace("\\", ""), html_report(found)):
        assert "Pull requests" in text
        assert "T-0: " in text
        assert "#13" in text
    numbers = [part["pull_request"]["number"] for part in json.loads(json_report(found))["parts"]]
    assert numbers == [12, 13]


# --- the page's data ---


def page_data(seen: PullRequestSeen) -> str:
    timeline = Timeline()
    timeline.take(1, AT, seen)
    event = event_data(FeedEvent(1, 1, AT, seen.kind, encode_event(seen)))
    run = run_data(replace(RUN, pull_request=view_of(seen)), RunLabel())
    return json.dumps([timeline_data(timeline, (), live=True), event, run], ensure_ascii=False)


def test_the_page_gets_a_card_a_mark_and_a_line() -> None:
    timeline, event, run = json.loads(page_data(SEEN))
    assert run["pull"] == {
        "name": "#12", "words": "waits", "tone": "open", "counts": "1 of 4 checks passed",
    }  # fmt: skip
    (card,) = timeline["pullRequests"]
    assert (card["address"], card["said"], card["head"]) == (URL, "waits for build, lint", "9f3e77c0ab12")
    assert [check["name"] for check in card["checks"]] == ["docs", "build", "lint", "unit"]
    assert [check["address"] for check in card["checks"]] == ["", f"{URL}/checks", "", ""]
    assert event["words"] == "#12 waits for build, lint · 1 of 4 checks passed"
    assert json.loads(json.dumps(run_data(RUN, RunLabel())))["pull"] is None


# --- hostile text ---


def stream_text(seen: PullRequestSeen) -> str:
    lines = StreamText(UTC).take(FeedEvent(1, 1, AT, seen.kind, encode_event(seen)))
    assert not any("\n" in line.text for line in lines)
    return "\n".join(line.text for line in lines)


def json_line(seen: PullRequestSeen) -> str:
    out = io.StringIO()
    JsonLines(out)(seen, AT)
    return out.getvalue()


FACES: dict[str, Callable[[PullRequestSeen], str]] = {
    "console": lambda seen: told(seen, replace(seen, step="ask"), ENDED),
    "live line": status,
    "json": json_line,
    "terminal UI": stream_text,
    "page": page_data,
    "html": lambda seen: html_report(report(seen)),
    "markdown": lambda seen: markdown_report(report(seen)),
}
NEVER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("face", FACES)
def test_no_face_lets_the_forge_take_over(face: str) -> None:
    text = FACES[face](HOSTILE)
    assert NEVER.findall(text) == []
    assert "evil" in text, "it is shown, but harmless"


@given(st.text(), st.text(), st.sampled_from(sorted(FACES)))
def test_no_text_at_all_takes_over(one: str, other: str, face: str) -> None:
    seen = replace(
        SEEN, url=one, title=other, branch=one, reason=one + other, state=other, step=one, hint=other,
        checks=(SeenCheck(one, other, one), SeenCheck(other, "passed", other, is_flaky=True)),
    )  # fmt: skip
    assert NEVER.findall(FACES[face](seen)) == []


def test_console_lines_stay_ones_own() -> None:
    """A line break in a name must not begin a line that looks like one of ralph's."""
    assert len(told(HOSTILE).splitlines()) == len(told(SEEN).splitlines())


def test_html_of_the_forge_is_only_text() -> None:
    page = html_report(report(HOSTILE))
    assert "<script" not in page
    assert "<a " not in page, "javascript: is no link"
    assert "&lt;script&gt;" in page


def test_markdown_of_the_forge_is_only_text(tmp_path: Path) -> None:
    for text in (markdown_report(report(HOSTILE)), summary(tmp_path, HOSTILE)):
        outside = re.sub(r"(`+).*?\1", "", text)  # what is in code stays code
        assert not re.search(r"(?<!\\)\[a|(?<!\\)<script|(?<!\\)\*\*b", outside)
        assert "script" in outside
    table = [row for row in markdown_report(report(HOSTILE)).splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in table} == {3}, "no name makes a cell of its own"


def test_no_line_of_a_step_in_github_actions_is_a_command_of_the_forge() -> None:
    out = io.StringIO()
    listener = GithubActions(out, token="T")
    for event in (RunStarted("r", "basic", "claude", "/"), HOSTILE, ENDED):
        listener(event, AT)
    assert "::error::no" not in out.getvalue().splitlines()
    assert not any(line.startswith("::error::no") for line in told(HOSTILE).splitlines())
