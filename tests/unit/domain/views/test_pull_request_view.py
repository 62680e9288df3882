"""The words of a pull request, and what of it is news."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.delivery.deliver import Step
from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.delivery.standing import Standing
from ralph.domain.loop.events import IterationStarted, LoopEvent, PullRequestSeen, RunStarted
from ralph.domain.views.decisions import Tone
from ralph.domain.views.iterations import Timeline
from ralph.domain.views.pull_request import (
    MOST_NAMED,
    NewsKind,
    PullRequestView,
    describe_check,
    group_checks,
    link_of,
    news_of,
    view_of,
)

URL = "https://github.com/o/r/pull/12"
SEEN = PullRequestSeen(
    12, URL, "Sort by date", "sort", "main", "9f3e" * 10, "open", "wait", "waits for build, lint",
    checks=(SeenCheck("build", "pending"), SeenCheck("lint", "pending"), SeenCheck("unit", "passed")),
)  # fmt: skip
PULL = view_of(SEEN)


def told(before: PullRequestView | None, now: PullRequestView) -> list[tuple[str, str]]:
    return [(news.kind.value, news.text) for news in news_of(before, now)]


@pytest.mark.parametrize(
    ("changes", "said", "tone"),
    [
        ({}, "waits for build, lint", Tone.OPEN),
        ({"reason": "no check has begun"}, "waits; no check has begun", Tone.OPEN),
        ({"reason": ""}, "waits", Tone.OPEN),
        ({"for_people": True, "reason": "waits for reviews: 0 of 1"}, "waits for reviews: 0 of 1", Tone.WARNING),
        ({"for_people": True, "reason": ""}, "waits for people", Tone.WARNING),
        ({"step": "fix", "reason": "failed: build"}, "needs a fix; failed: build", Tone.OPEN),
        ({"step": "rerun", "reason": "e2e was cancelled"}, "checks run again; e2e was cancelled", Tone.OPEN),
        ({"step": "update", "reason": "main has moved"}, "is updated from its base; main has moved", Tone.OPEN),
        ({"step": "merge", "reason": "isort agrees"}, "is being merged; isort agrees", Tone.OPEN),
        ({"step": "ask", "reason": "docs fails on main too"}, "needs a person; docs fails on main too", Tone.WARNING),
        ({"step": "done", "reason": "ready to be merged: 3"}, "ready to be merged: 3", Tone.GOOD),
        ({"state": "merged", "step": "done", "reason": "merged by ann"}, "merged by ann", Tone.GOOD),
        ({"state": "closed", "step": "done", "reason": "closed by ann"}, "closed by ann", Tone.WARNING),
        ({"step": "ponder", "reason": "why not"}, "ponder; why not", Tone.OPEN),
    ],
)  # fmt: skip
def test_what_ralph_does_about_it_in_words(changes: dict[str, object], said: str, tone: Tone) -> None:
    pull = replace(PULL, **changes)  # type: ignore[arg-type]
    assert (pull.said, pull.wording.tone) == (said, tone)


def test_every_step_and_every_standing_has_words() -> None:
    for step in Step.__args__:
        words = replace(PULL, step=step.__name__.lower(), reason="").said
        assert words != step.__name__.lower(), f"{step.__name__} has no words"
    for standing in Standing:
        wording = describe_check(SeenCheck("build", standing.value))
        assert wording.words
        assert (wording.tone is Tone.GOOD) == (standing is Standing.PASSED), "only what passed is green"


@pytest.mark.parametrize(
    ("check", "words", "tone"),
    [
        (SeenCheck("a", "passed", is_flaky=True), "passed, but flaky", Tone.WARNING),
        (SeenCheck("a", "failed", is_flaky=True), "failed, flaky", Tone.BAD),
        (SeenCheck("a", "flaky", is_flaky=True), "flaky: passed and failed on one commit", Tone.WARNING),
        (SeenCheck("a", "fails on the base too"), "fails on the base too", Tone.WARNING),
        (SeenCheck("a", "of a later ralph"), "of a later ralph", Tone.OPEN),
    ],
)
def test_a_check_in_words(check: SeenCheck, words: str, tone: Tone) -> None:
    wording = describe_check(check)
    assert (wording.words, wording.tone) == (words, tone)


@pytest.mark.parametrize(
    ("standings", "counts"),
    [
        ([], ""),
        (["passed"], "1 check passed"),
        (["passed", "passed", "not required"], "2 checks passed"),
        (["passed", "pending", "failed"], "1 of 3 checks passed"),
        (["not required"], ""),
    ],
)
def test_only_checks_that_decide_are_counted(standings: list[str], counts: str) -> None:
    checks = tuple(SeenCheck(f"check {number}", standing) for number, standing in enumerate(standings))
    assert replace(PULL, checks=checks).counts == counts


def test_one_line_has_number_state_step_and_address() -> None:
    assert PULL.line() == f"#12 open: waits for build, lint · 1 of 3 checks passed · {URL}"
    merged = replace(PULL, state="merged", reason="merged by ann", checks=())
    assert merged.line("-") == f"#12 merged by ann - {URL}"
    assert replace(PULL, is_draft=True).line().startswith("#12 draft: ")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "data:text/html,x", "https://", "http://a b", "https://a/)[x](http://b",
        'https://a/"onclick="x', "https://a/<b>", "https://a/\u202e", "https://a/|", "https://a/`", "HTTPS:x", "ftp://a",
        "https://a/" + "x" * 3000, " https://a", "https://a\n",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_of_the_web_is_no_link(url: str) -> None:
    assert link_of(url) == ""
    assert link_of(f"{URL}#issuecomment-1?a=b&c=%20") != ""


def test_the_first_that_is_seen_names_it_and_has_the_address_once() -> None:
    lines = told(None, replace(PULL, strangers=1))
    assert lines == [
        ("opened", "Pull request #12: Sort by date"),
        ("address", f"sort into main · {URL}"),
        ("step", "#12 waits for build, lint · 1 of 3 checks passed"),
        ("checks", "pending: build, lint"),
        ("checks", "passed: unit"),
        ("remarks", "1 remark by people who may not write: no agent gets it"),
    ]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"head": "b" * 40, "title": "Another"}, []),
        (
            {
                "reason": "waits for lint",
                "checks": (SeenCheck("build", "failed"), SeenCheck("lint", "pending"), SeenCheck("unit", "passed")),
            },
            [("checks", "#12 failed: build")],
        ),
        ({"reason": "the forge has not taken in the push yet"},
         [("step", "#12 waits; the forge has not taken in the push yet · 1 of 3 checks passed")]),
        ({"step": "fix", "reason": "failed: build", "checks": (SeenCheck("build", "failed"), *SEEN.checks[1:])},
         [("step", "#12 needs a fix; failed: build · 1 of 3 checks passed"), ("checks", "failed: build")]),
        ({"strangers": 2}, [("remarks", "2 remarks by people who may not write: no agent gets them")]),
        ({"is_draft": True}, [("step", "#12 waits for build, lint · 1 of 3 checks passed")]),
    ],
)  # fmt: skip
def test_only_what_changed_is_told(changes: dict[str, object], lines: list[tuple[str, str]]) -> None:
    assert told(PULL, replace(PULL, **changes)) == lines  # type: ignore[arg-type]


def test_another_pull_request_is_told_from_its_beginning() -> None:
    lines = told(PULL, replace(PULL, number=13, url=f"{URL}3"))
    assert [kind for kind, _ in lines] == ["opened", "address", "step", "checks", "checks"]


def test_many_checks_are_few_lines_and_long_names_are_cut() -> None:
    checks = tuple(SeenCheck(f"check {number:03}", "passed") for number in range(500))
    (group,) = group_checks(checks)
    assert group.text.endswith(f"and {500 - MOST_NAMED} more")
    huge = replace(PULL, title="t" * 10**6, reason="r" * 10**6, checks=(SeenCheck("n" * 10**6, "failed"),))
    assert all(len(news.text) < 1_000 for news in news_of(None, huge) if news.kind is not NewsKind.ADDRESS)


def test_what_is_not_green_comes_first() -> None:
    checks = tuple(SeenCheck(word, word) for word in ("passed", "not required", "pending", "failed", "held"))
    assert [check.name for check in replace(PULL, checks=checks).worst_first] == [
        "failed", "held", "pending", "passed", "not required",
    ]  # fmt: skip


def test_the_fold_keeps_the_newest() -> None:
    timeline = Timeline()
    merged = replace(SEEN, state="merged", step="done", reason="merged by ann")
    events: list[LoopEvent | None] = [
        RunStarted("r", "basic", "claude", "/"), SEEN, IterationStarted(1, 1, None, "x"), merged, None,
        RunStarted("r", "basic", "claude", "/", resumed=True),
    ]  # fmt: skip
    seen = []
    for number, event in enumerate(events, 1):
        timeline.take(number, float(number), event)
        seen.append(timeline.pull_request and timeline.pull_request.state)
    assert seen == [None, "open", "open", "merged", "merged", "merged"]
    assert len(timeline.iterations) == 1


def test_a_timeline_keeps_one_for_each_task_the_newest_look_last() -> None:
    timeline = Timeline()
    for seq, number in enumerate((12, 13, 12), start=1):
        timeline.take(seq, float(seq), replace(SEEN, number=number, reason=f"look {seq}"))
    assert {number: view.reason for number, view in timeline.pull_requests.items()} == {
        13: "look 2",
        12: "look 3",
    }
    assert timeline.pull_request is not None
    assert timeline.pull_request.number == 12
