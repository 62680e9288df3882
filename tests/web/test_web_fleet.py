"""The fleet beside the local runs: a table that needs no colour, one job with its lines as they come, and its buttons."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from ralph.domain.fleet.progress import Phase
from ralph.domain.fleet.shift import Beat, ShiftEnd
from ralph.domain.views.iterations import IterationView
from ralph.interfaces.web.access import Access
from ralph.interfaces.web.app import make_app
from ralph.operations.fleet.past import JobPast
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.projects import open_project, open_projects
from tests.fleet.world.memory_fleet import MemoryFleet, job

from .browser import Browser, chromium
from .conftest import DEADLINE, LiveRun, frames, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TOKEN = "a-token-that-only-this-test-knows"
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"
HOSTILE = "<img src=x onerror=alert(1)>\x1b]0;owned\x07\u202egnp.exe"
END = ShiftEnd(iteration=3, maximum=10, cost=0.42, tokens=12_000, commit="abcdef0123456789", run_id="r1")


class Served:
    """The page of a project, and a fleet in this process behind it."""

    def __init__(self, port: int, fleet: MemoryFleet) -> None:
        self.fleet = fleet
        self.base = f"http://127.0.0.1:{port}"
        self.address = f"{self.base}/?token={TOKEN}"

    def client(self, token: str = TOKEN) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.base, headers=headers, timeout=DEADLINE, trust_env=False)


@contextmanager
def serving(fleet: MemoryFleet, *roots: Path, read_only: bool = False) -> Iterator[Served]:
    async def connect() -> MemoryFleet:
        return fleet

    watch = FleetWatch(connect, pace=0.1, follow_pace=0.1, read_past=fleet.past)
    projects = open_projects(roots) if len(roots) > 1 else (open_project(roots[0]),)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app, end = make_app(projects, Access(token=TOKEN, port=port, read_only=read_only), watch)
        config = uvicorn.Config(
            app, ws="none", lifespan="on", log_level="critical", timeout_graceful_shutdown=3
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            wait_for(lambda: server.started, "the page is served")
            yield Served(port, fleet)
        finally:
            server.should_exit = True
            end()
            thread.join(DEADLINE)
            assert not thread.is_alive()


@pytest.fixture
def fleet() -> MemoryFleet:
    now = time.time()
    found = MemoryFleet(
        job("shop-1", title="Sum the totals", since=now - 60, worker="box-1", end=END),
        job("shop-2", Phase.QUEUED, title="Receipts by mail", since=now - 30, reason="no worker is free"),
        job(
            "shop-3",
            outcome="failed",
            title="Invoices",
            since=now - 600,
            end=ShiftEnd(reason="the tests fail"),
        ),
        job("shop-4", outcome="completed", since=now - 90, end=ShiftEnd(merged="abc", cost=1.0)),
        job("shop-5", Phase.WAITING, since=now - 20, reason="the agent's limit resets", until=now + 900),
    )
    found.beats["shop-1"] = Beat(
        worker="box-1",
        turn=3,
        iteration=4,
        cost=0.1,
        first_line=7,
        lines=("reads totals.py", "runs the tests"),
    )
    return found


@pytest.fixture
def site(root: Path, live: LiveRun, fleet: MemoryFleet) -> Iterator[Served]:
    live.iterate(1)
    with serving(fleet, root) as page:
        yield page


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


# --- the browser ---


def test_jobs_stand_beside_the_runs_and_what_needs_a_person_is_first(site: Served, browser: Browser) -> None:
    browser.goto(site.address)
    browser.see(".fleet .jobs tr.needs-you", "✗ failed")
    browser.see(".run", "Fix the tests.")
    order = browser.run(
        "() => [...document.querySelectorAll('.jobs [data-job]')].map((row) => row.dataset.job)"
    )
    assert order == ["shop-3", "shop-1", "shop-5", "shop-2", "shop-4"]
    assert "$1.42" in browser.text(".fleet h2")
    browser.see("[data-job=shop-5]", "14m")
    browser.click(".fleet .filters button:has-text('Needs you 1')")
    browser.gone("[data-job=shop-1]")
    browser.click(".fleet .filters button:has-text('All 5')")
    browser.fill(".fleet input", "MAIL")
    browser.gone("[data-job=shop-1]")
    site.fleet.put(job("shop-2", Phase.RUNNING, title="Receipts by mail", worker="box-2"))
    browser.see("[data-job=shop-2]", "● running")
    assert browser.run("() => document.activeElement.type") == "search"  # nobody loses what they type
    for width in (1300, 768, 390):
        browser.size(width, 800)
        assert browser.run(TOO_WIDE) <= 0
    assert browser.complaints == []


def test_a_job_tells_its_lines_as_they_come_and_takes_what_is_asked(site: Served, browser: Browser) -> None:
    browser.goto(site.address)
    browser.click("[data-job=shop-1] a")
    browser.see("h1", "Sum the totals")
    browser.see(".console", "7 lines before these")
    browser.see(".console-line", "runs the tests")
    browser.see(".facts", "4, under way")
    site.fleet.beats["shop-1"] = Beat(
        worker="box-1", turn=3, iteration=4, first_line=8, lines=("runs the tests", "all are green")
    )
    browser.see(".console-line", "all are green")
    assert browser.count(".console-line:has-text('runs the tests')") == 1
    browser.click("button:has-text('Pause')")
    browser.see(".said", "shop-1: pauses after the current session.")
    browser.see(".chip", "pausing")
    browser.click("button:has-text('Continue')")
    browser.click("button:has-text('Steer…')")
    browser.fill("#steer-text", "mind zero")
    browser.click("dialog button:has-text('Send')")
    browser.see(".said", "added to the next prompt")
    browser.click("button:has-text('Stop…')")
    browser.see("dialog[open]", "Stop this job?")
    browser.click("dialog button:has-text('Now')")
    browser.see(".said", "stopping now")
    site.fleet.pasts["shop-1"] = JobPast()
    site.fleet.put(job("shop-1", outcome="cancelled", end=END))
    browser.click("button:has-text('Retry')")
    browser.see(".chip", "queued")
    del site.fleet.views["shop-1"]
    browser.see("#problem", "gone from the server")
    browser.click("#project")
    browser.see(".fleet [data-job=shop-3]")
    assert site.fleet.asked == [
        ("shop-1", "pause"),
        ("shop-1", "unpause"),
        ("shop-1", "steer", "mind zero"),
        ("shop-1", "stop_now"),
        ("shop-1", "retry"),
    ]
    assert browser.complaints == []


def test_a_job_that_has_ended_shows_its_record(site: Served, browser: Browser) -> None:
    judged = IterationView(
        iteration=1, attempt=1, started_at=0.0, first_seq=1, last_seq=2, decision="accept", reason=HOSTILE
    )
    site.fleet.pasts["shop-4"] = JobPast(iterations=(judged,), lines=("all green", HOSTILE), left_out=3)
    browser.goto(site.address)
    browser.click("[data-job=shop-4] a")
    browser.see(".console", "3 lines before these")
    browser.see(".console-line", "all green")
    browser.gone(".console .empty:not([hidden])")
    browser.see(".iteration", "accepted")
    assert browser.count("main img") == 0
    browser.goto(f"{site.address}#/fleet/shop-3")
    browser.see(".console", "Its record cannot be read from here: https://git.example.com/shop.git")
    assert browser.run("() => document.querySelector('.console').clientHeight") < 120  # no empty box
    site.fleet.put(job("shop-3", Phase.RUNNING, worker="box-2"))
    browser.see(".console", "appear here as they come")


def test_a_long_list_is_shown_in_full_when_asked(root: Path, browser: Browser) -> None:
    with serving(MemoryFleet(*(job(f"shop-{number}") for number in range(30))), root) as site:
        browser.goto(site.address)
        browser.see("h2", "Runs on this machine")
        assert browser.count("[data-job]") == 20
        browser.click("button:has-text('Show all 30 jobs')")
        assert browser.count("[data-job]") == 30


def test_a_server_that_is_away_is_said_and_what_was_known_stays(site: Served, browser: Browser) -> None:
    browser.goto(site.address)
    browser.see("[data-job=shop-1]")
    site.fleet.away = "nobody answers at box:7233"
    browser.see(".fleet", "nobody answers at box:7233. start it. These jobs were seen")
    browser.see("[data-job=shop-1]")
    site.fleet.away = ""
    browser.gone(".fleet p.odd")


def test_hostile_words_stay_words(root: Path, live: LiveRun, browser: Browser) -> None:
    fleet = MemoryFleet(
        job("shop-1", title=HOSTILE, reason=HOSTILE, worker=HOSTILE, end=ShiftEnd(decision=HOSTILE))
    )
    fleet.beats["shop-1"] = Beat(worker=HOSTILE, turn=1, iteration=1, lines=(HOSTILE, "next"))
    with serving(fleet, root) as site:
        browser.goto(site.address)
        browser.see(".job-title", "<img src=x onerror=alert(1)>")
        browser.click("[data-job=shop-1] a")
        browser.see(".console-line", "next")
        browser.see("h1", "<img src=x onerror=alert(1)>")
        assert browser.count("main img") == 0
        shown = browser.text("main")
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
        assert "owned" not in shown
        assert browser.complaints == []


def test_several_projects_show_the_fleet_on_their_first_page(
    root: Path, live: LiveRun, fleet: MemoryFleet, tmp_path: Path, browser: Browser
) -> None:
    (tmp_path / "other" / ".ralph").mkdir(parents=True)
    with serving(fleet, root, tmp_path / "other") as site:
        browser.goto(site.address)
        browser.see(".fleet [data-job=shop-3]")
        browser.see(".project", "other")
        browser.click(".project a:has-text('other')")
        browser.see("h1", "Nothing has run here yet")
        browser.gone(".fleet")


# --- without one ---


def test_one_connection_tells_of_runs_and_jobs(site: Served) -> None:
    with site.client() as client, client.stream("GET", "/api/stream") as answer:
        told = {}
        for _, event, data in frames(answer.iter_lines()):
            told[event] = data
            if {"state", "fleet"} <= set(told):
                break
    assert told["fleet"]["counts"] == {"person": 1, "running": 1, "waiting": 2, "ended": 1}
    assert [run["id"] for run in told["state"]["runs"]] == ["r1"]


def test_a_reader_who_comes_back_gets_only_what_is_new(site: Served) -> None:
    path = "/api/fleet/jobs/shop-1/stream"
    with site.client() as client:
        with client.stream("GET", path) as answer:
            number, _, first = next(each for each in frames(answer.iter_lines()) if each[1] == "lines")
        site.fleet.beats["shop-1"] = Beat(worker="box-1", turn=3, first_line=9, lines=("green",))
        with client.stream("GET", path, params={"after": number}) as answer:
            _, _, again = next(each for each in frames(answer.iter_lines()) if each[1] == "lines")
    assert [each.get("text") for each in first["lines"]][-2:] == ["reads totals.py", "runs the tests"]
    assert again == {"lines": [{"text": "green"}]}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/fleet/jobs/shop-1"),
        ("GET", "/api/fleet/jobs/shop-1/stream"),
        ("GET", "/api/fleet/jobs/shop-1/past"),
        ("POST", "/api/fleet/jobs/shop-1/stop"),
    ],
)
def test_strangers_learn_and_do_nothing(site: Served, method: str, path: str) -> None:
    with site.client("") as stranger:
        assert stranger.request(method, path, json={}).status_code == 401
    if method == "POST":
        with site.client() as client:
            other = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
            assert client.post(path, json={}, headers=other).status_code == 403
            assert client.post(path, content=b"{}").status_code == 415
    assert site.fleet.asked == []


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("shop-9/pause", {}, 409, "there is no job shop-9"),
        ("shop-1/retry", {}, 409, "has not ended"),
        ("shop-1/steer", {"text": " "}, 409, "the note is empty"),
        ("shop-1/steer", {"text": 5}, 400, "not a text"),
        ("shop-1/explode", {}, 404, "Unknown request"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    site: Served, path: str, body: dict[str, object], status: int, words: str
) -> None:
    with site.client() as client:
        answer = client.post(f"/api/fleet/jobs/{path}", json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_read_only_page_asks_nothing_and_a_server_away_is_no_crash(
    root: Path, live: LiveRun, fleet: MemoryFleet
) -> None:
    with serving(fleet, root, read_only=True) as site, site.client() as client:
        assert client.post("/api/fleet/jobs/shop-1/stop", json={}).status_code == 403
        fleet.away = "nobody answers"
        answer = client.get("/api/fleet/jobs/shop-1")
        assert (answer.status_code, answer.json()["error"]) == (503, "nobody answers")
    assert fleet.asked == []
