"""The pull request on the page: a card that changes as its checks do, and a mark in the row of its run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ralph.domain.delivery.seen import SeenCheck
from ralph.domain.loop.events import PullRequestSeen

from .browser import Browser, chromium
from .conftest import LiveRun, Site, frames
from .test_web_page import FAINT, NAMELESS, TOO_WIDE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

URL = "https://github.com/o/r/pull/12"
HOSTILE = "<img src=x onerror=alert(1)> \u202eevil \x1b[31mred"
SEEN = PullRequestSeen(
    12, URL, HOSTILE, "sort", "main", "9f3e77c0ab12" + 28 * "0", "open", "wait", "waits for build, lint",
    checks=(
        SeenCheck("build", "pending", f"{URL}/checks"), SeenCheck("docs", "fails on the base too"),
        SeenCheck(HOSTILE, "failed", "javascript:alert(1)"), SeenCheck("lint", "pending"), SeenCheck("unit", "passed"),
    ),
    strangers=2,
)  # fmt: skip


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def test_programs_get_it_and_its_changes_as_they_happen(site: Site, live: LiveRun) -> None:
    with site.client() as client:
        assert client.get("/api/runs/r1").json()["pullRequests"] == []
        live.write(SEEN)
        (card,) = client.get("/api/runs/r1").json()["pullRequests"]
        assert (card["name"], card["address"], card["said"]) == ("#12", URL, "waits for build, lint")
        assert [check["name"] for check in card["checks"]][1:] == ["docs", "build", "lint", "unit"]
        assert client.get("/api/state").json()["runs"][0]["pull"]["words"] == "waits"
        with client.stream("GET", "/api/stream?run=r1&after=0") as answer:
            told = frames(answer.iter_lines())
            next(data for _, event, data in told if event == "run" and data["pullRequests"])
            live.write(replace(SEEN, state="merged", step="done", reason="merged by ann"))
            merged = next(
                data
                for _, event, data in told
                if event == "run" and data["pullRequests"][0]["said"] == "merged by ann"
            )
            assert merged["pullRequests"][0]["stateWords"] == "merged"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_changes_as_the_checks_do(live: LiveRun, site: Site, browser: Browser, scheme: str) -> None:
    live.iterate(1)
    browser.scheme(scheme)
    browser.goto(site.address)
    browser.see(".run.is-live")
    assert browser.count(".run-pull") == 0
    live.write(SEEN)
    browser.see(".run-pull", "pull request #12 waits")
    assert browser.run(FAINT) == []

    browser.click(".run")
    browser.see(".pull .why", "waits for build, lint")
    browser.see(".pull", "no agent gets them")
    link = "() => { const a = document.querySelector('.pull h2 a'); return [a.href, a.target, a.rel, a.textContent]; }"
    assert browser.run(link) == [URL, "_blank", "noopener noreferrer", "#12"]
    links = "() => [...document.querySelectorAll('.pull a')].map((a) => a.href)"
    assert browser.run(links) == [URL, f"{URL}/checks"], "javascript: is no link"
    assert browser.count(".pull img") == 0
    assert "\\u202eevil" in browser.text(".pull .pull-title")
    rows = "() => [...document.querySelectorAll('.pull-checks li')].map((each) => each.innerText.replaceAll('\\n', ' '))"
    assert browser.run(rows)[1:] == [
        "! docs fails on the base too",
        "◔ build pending",
        "◔ lint pending",
        "✓ unit passed",
    ]

    live.write(
        replace(
            SEEN, reason="waits for lint", checks=(SeenCheck("build", "passed"), SeenCheck("lint", "pending"))
        )
    )
    browser.see(".pull-checks li", "✓")
    browser.see(".pull .why", "waits for lint")
    for width in (1280, 360):
        browser.size(width, 740)
        assert browser.run(FAINT) == []
        assert browser.run(NAMELESS) == []
        assert browser.run(TOO_WIDE) <= 0
    assert browser.complaints == []
