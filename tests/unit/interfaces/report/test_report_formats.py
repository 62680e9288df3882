"""The report: everything that matters is in it, and whatever an agent wrote is only text in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.events import Usage
from ralph.domain.loop.events import ActionEnded
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.review.finding import Finding, Place, Review, Severity
from ralph.domain.views.changes import Changes, CommitLine, FileChange
from ralph.domain.views.iterations import IterationView, Note, figures_of
from ralph.domain.views.runs import RunLabel, RunState, RunView
from ralph.interfaces.report.content import Part, ReportContent
from ralph.interfaces.report.formats import Format, format_for, json_report
from ralph.interfaces.report.html_page import html_report
from ralph.interfaces.report.markdown import code, markdown_report, plain

SHA = "ab12" * 16
HOSTILE = "</pre><script>alert(1)</script> \x1b[31m | `x` \u202e \ud800 & <!-- "

RUN = RunView(
    id="20260101-000000-abcd",
    profile="basic",
    agent="claude",
    root="/w",
    state=RunState.COMPLETED,
    live=False,
    iteration=2,
    maximum=10,
    cost_usd=1.25,
    tokens=12_345,
    last_check=None,
    started_at=1_760_000_000.0,
    active_at=1_760_000_100.0,
    ended_at=1_760_000_100.0,
    waits_until=None,
    reason="claimed, and proven",
)
DENIED = IterationView(
    iteration=1,
    attempt=1,
    started_at=1.0,
    first_seq=1,
    decision="continue",
    reason="tests fail",
    claimed=True,
    claims=("done: tag response",),
    checks=(
        CheckResult(
            "tests",
            Verdict.FAILED,
            command="make test",
            exit_code=2,
            seconds=3.0,
            output_sha256=SHA,
            last_lines=("2 failed",),
        ),
    ),
    spend=Spend(1.0, Usage(10, 10), 5.0),
    seconds=61.0,
)
ACCEPTED = replace(
    DENIED,
    iteration=2,
    decision="accept",
    proven=True,
    checks=(CheckResult("tests", Verdict.PASSED, command="make test", exit_code=0),),
    actions=(ActionEnded("git commit", True, 'committed "Mend it"'),),
    spend=Spend(0.25, Usage(), 1.0),
)


def _finding(text: str) -> Finding:
    words = {"title": text, "explanation": text, "suggestion": text, "file": text}
    return Finding(severity=Severity.HIGH, line=3, end_line=3, place=Place.FILE, **words)


def content(*iterations: IterationView, text: str = "Fix the tests.", **changes: object) -> ReportContent:
    values = {
        "run": RUN,
        "asked": text,
        "iterations": iterations,
        "left_out": 0,
        "notes": (Note(1.0, 1, "steered", text),),
        "header": (text,),
        "concerns": (text,),
        "figures": figures_of(iterations),
        "review": Review(what=text, commit="c", base="b", base_name="main", findings=(_finding(text),)),
        "changes": Changes(
            files=(FileChange("shop.py", 3, 1), FileChange(text, None, None)),
            commits=(CommitLine("abc1234", text),),
            # As one line: a line of its own that begins with + or - would be marked up, as it should.
            patch=f"diff --git a b\n-old\n+new {' '.join(text.split())}\n",
        ),
    } | changes
    return ReportContent(**values)  # type: ignore[arg-type]


class Page(HTMLParser):
    """Elements and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "line", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("meta", "line", "rect"):
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_tells_the_outcome_the_checks_with_receipts_and_the_changes() -> None:
    page = Page(html_report(content(DENIED, ACCEPTED)))
    for found in (
        "Completed, with 1 warning",
        "claimed, and proven",
        "2 of 10",
        "$1.25",
        "Fix the tests.",
        "make test",
        "exit 2",
        "2 failed",
        SHA[:12],
        "1 of 2",
        "shop.py",
        "abc1234",
        "though it claimed to be done",
        'committed "Mend it"',
        "high Fix the tests.:3: Fix the tests.",
        "place not found: the file has no such line",
        "Suggestion: Fix the tests.",
    ):
        assert found in page.words, found
    assert page.tags.count("svg") == 2
    assert "svg" not in Page(html_report(content(ACCEPTED))).tags, "a single bar compares nothing"
    assert page.open == []


def test_the_page_needs_nothing_from_outside_and_runs_nothing() -> None:
    text = html_report(content(DENIED, ACCEPTED, text=HOSTILE))
    page = Page(text)
    assert page.links == []
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert "default-src 'none'" in text
    assert "url(" not in text


@given(st.text())
def test_whatever_was_said_is_only_text_in_the_page(text: str) -> None:
    plain_page = Page(html_report(content(DENIED, text="x")))
    assert Page(html_report(content(DENIED, text=text or "x"))).tags == plain_page.tags


def test_a_run_that_checked_nothing_is_said_to_rest_on_claims() -> None:
    bare = replace(ACCEPTED, checks=())
    assert "rests on the agent's word" in html_report(content(bare))
    assert "rests on the agent's word" in markdown_report(content(bare))


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.INTERRUPTED, RunState.RUNNING])
def test_only_a_completed_run_can_rest_on_claims(state: RunState) -> None:
    found = content(replace(ACCEPTED, checks=(), decision=""), run=replace(RUN, state=state))
    for text in (html_report(found), markdown_report(found)):
        assert "No check was run." in text
        assert "rests on the agent's word" not in text


def test_a_run_of_runs_tells_of_its_parts() -> None:
    part = Part(
        replace(RUN, id="r-part", parent_id=RUN.id, reason="every role has accepted T-1"),
        RunLabel("Totals | are rounded", "T-1"),
        (DENIED, ACCEPTED),
    )
    found = content(parts=(part,), run=replace(RUN, iteration=0, maximum=None), label=RunLabel("T-1"))
    found = replace(found, figures=figures_of(part.iterations))
    page = Page(html_report(found))
    assert page.open == []
    for words in ("T-1 Totals | are rounded", "every role has accepted T-1", "2 in 1 part", "1 of 2"):
        assert words in page.words, words
    text = markdown_report(found)
    assert "| T\\-1 Totals \\| are rounded | completed | 2 | $1.25 | every role has accepted T\\-1 |" in text
    assert "| `tests` | ✅ passed | 1 of 2 |" in text
    assert "- T\\-1 1: ❌ `tests`: exit code 2" in text
    assert json.loads(json_report(found))["parts"][0]["run"]["id"] == "r-part"


def test_time_goes_on_until_a_run_has_ended() -> None:
    live = replace(RUN, state=RunState.RUNNING, live=True, ended_at=None)
    now = RUN.started_at + 3600.0
    assert content(run=live, written_at=now).elapsed == 3600.0
    gone = replace(live, state=RunState.INTERRUPTED, live=False)
    assert content(run=gone, written_at=now).elapsed == 100.0
    assert content(written_at=now).elapsed == 100.0


def test_steps_of_roles_have_a_column_of_their_own() -> None:
    back = replace(
        DENIED,
        role="reviewer",
        assignment="T-1/reviewer",
        decision="giveup",
        claimed=False,
        claims=("rejected: tag reject",),
    )
    text = markdown_report(content(back))
    assert "| # | step | decision | checks | time | cost |" in text
    assert "| 1 | T\\-1/reviewer | sent back | ❌ | 1m1s | $1.00 |" in text
    assert "sent back" in Page(html_report(content(back))).words


def test_a_long_prompt_is_folded_in_markdown() -> None:
    assert "<details>" not in markdown_report(content(ACCEPTED))
    long = markdown_report(content(ACCEPTED, asked="line\n" * 30))
    assert long.count("<details>") == long.count("</details>") == 1


def test_a_run_without_iterations_has_a_report_too() -> None:
    empty = content(changes=Changes(note="no commit was recorded"), concerns=(), asked="")
    assert "no commit was recorded" in html_report(empty)
    assert "no commit was recorded" in markdown_report(empty)
    assert json.loads(json_report(empty))["iterations"] == []


def test_markdown_tells_the_same_in_short() -> None:
    text = markdown_report(content(DENIED, ACCEPTED))
    assert text.startswith("## ralph: Completed, with 1 warning\n")
    assert json.loads(json_report(content(DENIED, ACCEPTED)))["verdict"] == "Completed, with concerns"
    assert "| 1 | not done yet (claimed done, denied) | ❌ | 1m1s | $1.00 |" in text
    assert "| 2 | accepted | ✅ | 1m1s | $0.25 |" in text
    assert "| `tests` | ✅ passed | 1 of 2 | `make test` |" in text
    assert "| `shop.py` | 3 | 1 |" in text


def test_hostile_text_cannot_leave_its_place_in_markdown() -> None:
    text = markdown_report(content(DENIED, ACCEPTED, text=HOSTILE))
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    assert "script" in outside
    assert "<script>" not in outside.replace("\\<", "")
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("text", ["a`b", "``", "`", "a|b", "plain", "```x```"])
def test_code_is_fenced_longer_than_what_is_in_it(text: str) -> None:
    fenced = code(text)
    fence = fenced[: len(fenced) - len(fenced.lstrip("`"))]
    assert fence not in fenced[len(fence) : -len(fence)]


@given(st.text(alphabet="<>[]()*_`|#\\ab!-@~", max_size=30))
def test_plain_text_has_no_bare_mark_left(text: str) -> None:
    marked = plain(text).replace("\\\\", "")
    for place, character in enumerate(marked):
        if character in "<>[]()*_`|#!@~":
            assert marked[place - 1] == "\\"


def test_json_holds_everything_and_is_utf8() -> None:
    data = json.loads(json_report(content(DENIED, ACCEPTED, text=HOSTILE)).encode())
    assert data["run"]["id"] == RUN.id
    assert [each["decision"] for each in data["iterations"]] == ["continue", "accept"]
    assert data["iterations"][0]["checks"][0]["output_sha256"] == SHA
    assert data["changes"]["files"][0] == {"path": "shop.py", "added": 3, "removed": 1}
    assert data["figures"]["check_rates"] == [{"name": "tests", "passed": 1, "ran": 2}]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.html", Format.HTML),
        ("a.md", Format.MARKDOWN),
        ("A.JSON", Format.JSON),
        ("a", None),
        ("a.txt", None),
    ],
)
def test_a_files_name_says_its_format(name: str, form: Format | None) -> None:
    assert format_for(Path(name)) is form


LAYERS = (
    CheckResult("tests review", Verdict.FAILED, reason="the task does not demand it: test_a.py"),
    CheckResult("old proof", Verdict.SKIPPED, required=False, reason="there were no tests"),
)


@pytest.mark.parametrize("report", [html_report, markdown_report])
def test_a_report_says_why_a_claim_was_denied_and_what_was_not_tried(
    report: Callable[[ReportContent], str],
) -> None:
    probed = CheckResult(
        "canary at the start",
        Verdict.SKIPPED,
        required=False,
        reason="not known to notice a failing test: lint",
    )
    text = report(content(replace(DENIED, checks=(*DENIED.checks, *LAYERS)), at_start=(probed,)))
    for told in (
        "the task does not demand it",
        "there were no tests",
        "not known to notice a failing test: lint",
        "skipped",
    ):
        assert told in text
    assert "(optional)" not in text


def test_markdown_lists_each_denial() -> None:
    text = markdown_report(content(replace(DENIED, checks=(*DENIED.checks, *LAYERS)), ACCEPTED))
    listed = text.partition("### Claims denied, by iteration\n\n")[2].splitlines()
    assert listed == [
        "- 1: ❌ `tests`: exit code 2",
        r"- 1: ❌ `tests review`: the task does not demand it: test\_a.py",
    ]


@pytest.mark.parametrize("report", [html_report, markdown_report])
def test_a_run_that_was_trusted_does_not_look_proven(report: Callable[[ReportContent], str]) -> None:
    trusted = replace(RUN, proof=ProofPolicy("trusting", "reviewed"))
    said = "proven by your commands alone, in the working folder"
    assert said in report(content(ACCEPTED, run=trusted))
    guarded = replace(RUN, proof=ProofPolicy("guarded", "reviewed", ("Makefile",)))
    text = report(content(ACCEPTED, run=guarded))
    assert said not in text
    assert "guarded, tests reviewed, may change Makefile" in text
