"""What the page requests besides its stream: runs, changes, cards, reports, asks; and nonsense."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.loop.events import IterationStarted
from ralph.domain.loop.evidence import Verdict
from ralph.domain.tasks.task import Task
from tests.acceptance.conftest import DONE, PROMPT, Project
from tests.acceptance.running import running

from .conftest import DEADLINE, LiveRun, Site, served, wait_for


def test_a_run_is_told_with_its_iterations_and_figures(site: Site, live: LiveRun) -> None:
    live.iterate(1, Verdict.FAILED)
    live.iterate(2)
    with site.client() as client:
        data = client.get("/api/runs/r1").json()
    assert [each["decision"] for each in data["iterations"]] == ["continue", "accept"]
    assert data["iterations"][0]["denied"] is True
    assert data["iterations"][0]["checks"][0]["command"] == "make test"
    assert data["figures"]["rates"] == [{"name": "tests", "passed": 1, "ran": 2}]
    assert data["run"]["can"] == ["pause", "steer", "stop", "stop_now"]
    assert data["last"] == data["events"][-1]["seq"]


def test_who_asks_without_watching_is_never_told_old_news(site: Site, live: LiveRun) -> None:
    with site.client() as client:
        for number in (1, 2, 3):
            live.write(IterationStarted(number, 1, 10, "prompt"))
            assert client.get("/api/state").json()["runs"][0]["iteration"] == number
            assert len(client.get("/api/runs/r1").json()["iterations"]) == number


def test_earlier_events_come_page_by_page(site: Site, live: LiveRun) -> None:
    live.say(*(f"word {number}" for number in range(500)))
    with site.client() as client:
        first = client.get("/api/runs/r1").json()["events"][0]["seq"]
        seen = []
        while events := client.get("/api/runs/r1/events", params={"before": first, "limit": 90}).json()[
            "events"
        ]:
            assert len(events) <= 90
            first = events[0]["seq"]
            seen += [event["seq"] for event in reversed(events)]
    assert seen == list(range(seen[0], 0, -1))


def test_whether_there_are_earlier_events_is_told_and_not_guessed(root: Path, live: LiveRun) -> None:
    """Numbers are counted over all runs: those of the second one do not begin with 1."""
    with closing(LiveRun(root / ".ralph", "r2")) as second, served(root) as site, site.client() as client:
        second.say("a")
        assert client.get("/api/runs/r2").json()["earlier"] is False
        second.say(*(f"word {number}" for number in range(300)))
        data = client.get("/api/runs/r2").json()
        assert data["earlier"] is True
        older = client.get("/api/runs/r2/events", params={"before": data["events"][0]["seq"]}).json()
        assert older["earlier"] is False
        assert older["events"][0]["kind"] == "run_started"


def test_a_run_is_told_by_what_was_asked_and_with_its_parts(root: Path, live: LiveRun) -> None:
    folder = root / ".ralph"
    with closing(LiveRun(folder, "r2", parent="r1", prompt="Totals <b>\nand more", task="T-1")) as part:
        part.iterate(1)
        part.end()
        with served(root) as site, site.client() as client:
            assert client.get("/api/runs/r2").json()["run"]["title"] == "T-1 Totals <b>"
            (data,) = client.get("/api/runs/r1").json()["parts"]
            assert (data["id"], data["state"], data["parent"]) == ("r2", "completed", "r1")
            report = client.get("/api/runs/r1/report.md").text
            assert "| T\\-1 Totals \\<b\\> | completed |" in report


def test_an_iterations_changes_are_told_with_their_diff(root: Path, live: LiveRun) -> None:
    def git(*arguments: str) -> str:
        ran = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=90
        )
        return ran.stdout.strip()

    git("init", "-q")
    (root / "shop.py").write_text("one\n")
    (root / ".gitignore").write_text(".ralph\n")
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    begin = git("rev-parse", "HEAD")
    (root / "shop.py").write_text("two\n")
    git("commit", "-q", "-a", "-m", "fix <it>")
    live.iterate(1, commit=begin)
    live.iterate(2, commit=git("rev-parse", "HEAD"))
    with served(root) as site, site.client() as client:
        data = client.get("/api/runs/r1/iterations/2/1/changes").json()
        assert data["files"] == [{"path": "shop.py", "added": 1, "removed": 1}]
        assert data["commits"][0]["subject"] == "fix <it>"
        assert "+two" in data["patch"]
        assert client.get("/api/runs/r1/iterations/9/1/changes").status_code == 404


def test_reports_come_in_each_format_and_can_run_nothing(site: Site, live: LiveRun) -> None:
    live.iterate(1)
    with site.client() as client:
        page = client.get("/api/runs/r1/report.html")
        assert "sandbox" in page.headers["content-security-policy"]
        assert page.headers["content-disposition"] == 'attachment; filename="ralph-report-r1.html"'
        assert "<h1>Run r1</h1>" in page.text
        assert client.get("/api/runs/r1/report.md").text.startswith("## ralph")
        assert client.get("/api/runs/r1/report.json").json()["run"]["id"] == "r1"
        assert client.get("/api/runs/r1/report.exe").status_code == 404
        assert client.get("/api/runs/nobody/report.html").status_code == 404


def test_cards_are_told_and_tasks_cancelled_and_tried_again(site: Site, live: LiveRun) -> None:
    store = TaskStore(live.database, me=this_process(), started_of=started_of)
    store.add([Task(id="T.1", title="odd <name>")], at=time.time())
    with site.client() as client:
        (board,) = client.get("/api/state").json()["boards"]
        (card,) = board["lanes"][0]["cards"]
        assert (card["id"], card["can"]) == ("T.1", ["cancel"])
        assert client.get("/api/cards/task/T%2E1").json()["card"]["title"] == "odd <name>"
        assert client.get("/api/cards/task/nobody").status_code == 404
        assert client.get("/api/cards/thing/T.1").status_code == 404
        store.add([Task(id="T-2", title="plain")], at=time.time())
        assert client.post("/api/tasks/T-2/cancel", json={}).json() == {"status": "cancelled"}
        assert client.post("/api/tasks/T-2/cancel", json={}).status_code == 409
        assert client.post("/api/tasks/T-2/retry", json={}).json() == {"status": "open"}
        assert client.post("/api/tasks/T-2/explode", json={}).status_code == 404


@pytest.mark.parametrize("request_", ["pause", "unpause", "stop", "stop_now"])
def test_what_is_asked_reaches_the_run(shared_site: Site, shared_live: LiveRun, request_: str) -> None:
    with shared_site.client() as client:
        assert client.post(f"/api/runs/r1/{request_}", json={}).json()["answer"] == "asked"
    assert [ask.value for ask in shared_live.hear()] == [request_]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/runs/r1/steer", b'{"text": ""}', 409),
        ("/api/runs/r1/steer", b'{"text": "   "}', 409),
        ("/api/runs/r1/steer", b'{"text": "a\\u0000b"}', 409),
        ("/api/runs/r1/steer", b'{"text": "\\ud800"}', 409),
        ("/api/runs/r1/steer", json.dumps({"text": "x" * 30_000}).encode(), 413),
        ("/api/runs/r1/steer", b"x" * 70_000, 413),
        ("/api/runs/r1/steer", b"{", 400),
        ("/api/runs/r1/steer", b"[]", 400),
        ("/api/runs/r1/steer", b"[" * 5000, 400),
        ("/api/runs/r1/dance", b"{}", 404),
        ("/api/runs/nobody/stop", b"{}", 409),
    ],
)
def test_nonsense_is_refused_in_words(
    shared_site: Site, shared_live: LiveRun, path: str, body: bytes, status: int
) -> None:
    with shared_site.client() as client:
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert answer.json()["error"]
    assert shared_live.hear() == []
    assert shared_live.steering() == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/nobody",
        "/nothing",
        "/../../etc/passwd",
        "/static/app.js",
        "/api/runs/r1/iterations/x/1/changes",
    ],
)
def test_what_is_not_there_is_not_found(shared_site: Site, path: str) -> None:
    with shared_site.client() as client:
        assert client.get(path).status_code == 404


def test_a_run_that_is_over_cannot_be_steered(site: Site, live: LiveRun) -> None:
    live.iterate(1)
    live.end()
    with site.client() as client:
        answer = client.post("/api/runs/r1/steer", json={"text": "too late"})
        assert answer.status_code == 409
        assert "not under way" in answer.json()["error"]


@pytest.mark.timeout(180)
def test_a_real_run_is_watched_and_stopped_from_the_page(root: Path, tmp_path: Path) -> None:
    project = Project(root, tmp_path / "programs")
    project.programs.mkdir()
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "thinking hard"}, {"sleep": 120}, {"say": DONE}])
    with running(project, "-p", PROMPT) as process, served(project.root) as site, site.client() as client:
        runs = wait_for(lambda: client.get("/api/state").json()["runs"], "the run")
        run_id = runs[0]["id"]
        wait_for(lambda: "thinking hard" in client.get(f"/api/runs/{run_id}").text, "its words")
        assert client.post(f"/api/runs/{run_id}/stop_now", json={}).status_code == 200
        assert process.wait(timeout=DEADLINE) == 130

        def state() -> str:
            return str(client.get(f"/api/runs/{run_id}").json()["run"]["state"])

        assert wait_for(lambda: state() == "cancelled", "the end")


def test_an_answer_never_waits_for_who_does_not_read(site: Site, live: LiveRun) -> None:
    """A phone that fell asleep with its connection open does not keep others waiting."""
    live.say(*("x" * 3000 for _ in range(400)))
    with (
        site.client() as sleeper,
        sleeper.stream("GET", "/api/stream", params={"run": "r1"}),
        site.client() as client,
    ):
        for _ in range(5):
            assert client.get("/api/state").status_code == 200
