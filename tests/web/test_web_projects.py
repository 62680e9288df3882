"""Several projects on one page: what is told of them, what can be started in them, and that one bad one stays alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from ralph.adapters.project_list import add_project
from ralph.domain.loop.evidence import Verdict
from ralph.domain.tasks.task import TaskStatus

from .browser import Browser, chromium
from .conftest import DEADLINE, LiveRun, Site, frames, serving, wait_for
from .projects import CODED, DONE, WAIT, RealProject

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture
def shop(tmp_path: Path) -> RealProject:
    """With a task that failed; its agent makes whatever task it is given."""
    project = RealProject(
        tmp_path / "shop", [{"write": {"path": "made.txt", "content": "x"}}, {"say": CODED}]
    )
    project.add_task("T-1", failed=True)
    return project


@pytest.fixture
def api(tmp_path: Path) -> RealProject:
    """Its agent waits for a file before it is done."""
    return RealProject(tmp_path / "api", [{"say": "I begin."}, {"run": WAIT}, {"say": DONE}])


@pytest.fixture
def site(shop: RealProject, api: RealProject, tmp_path: Path) -> Iterator[Site]:
    with serving("--root", str(shop.root), "--root", str(api.root), home=tmp_path) as page:
        yield page


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def state_of(client: httpx.Client) -> dict[str, Any]:
    return dict(client.get("/api/state").json())


def keys_of(client: httpx.Client) -> dict[str, str]:
    return {each["name"]: each["key"] for each in state_of(client)["projects"]}


# --- the browser ---


def test_a_task_is_retried_and_a_run_is_started_from_the_page(
    site: Site, shop: RealProject, api: RealProject, browser: Browser, tmp_path: Path
) -> None:
    browser.goto(site.address)
    browser.see(".waits .wait", "T-1 totals")
    browser.see(".lane[aria-label^=Failed] .card", "shop")
    browser.click(".waits .wait:has-text('T-1 totals')")
    browser.see("dialog[open]", "the tests never passed")
    browser.click("dialog button:has-text('Try it again')")
    browser.see("dialog[open]", "Try again: T-1?")
    assert shop.status_of("T-1") is TaskStatus.FAILED  # a question comes first
    browser.click("dialog button[type=submit]")
    browser.see("#said", "T-1 is open now.")
    browser.see(".lane[aria-label^=Coder] .card", "T-1")
    browser.see(".waits", "Nothing waits for a person.")
    assert shop.status_of("T-1") is TaskStatus.OPEN

    browser.click(".project[aria-label=api] button:has-text('Start a run')")
    browser.fill("#prompt-text", f"Fix it, then say {DONE}.")
    browser.click("dialog button[type=submit]")
    browser.see("dialog [role=alert]", "is not trusted")  # nobody agrees to anything here
    browser.see("dialog [role=alert]", "ralph trust")
    assert not list(api.state.glob("detached-*"))
    api.trust()
    browser.click("dialog button[type=submit]")
    browser.see("#said", "has begun.")
    browser.see(".run-title", "running")
    browser.see(".stream .words", "I begin.")
    assert "/project/" in browser.run("() => location.hash")
    assert "Fix" not in browser.run("() => location.href")
    browser.see("#project", "api")

    browser.click(".brand")
    browser.see(".run.is-live", "api")
    browser.see(".totals", "Under way")
    for width in (1280, 390):
        browser.size(width, 860)
        assert browser.run(TOO_WIDE) <= 0
    browser.size(1280, 860)
    browser.click(".run.is-live")
    wait_for((api.root / "started").exists, "the agent's start")
    (api.root / "go").touch()
    browser.see(".run-title", "completed")
    browser.click("#project")
    browser.see(".run", "completed")
    assert [line for line in browser.complaints if "409" not in line] == []  # the browser logs the refusal


def test_what_is_started_outlives_the_page_and_is_resumed_from_another(
    api: RealProject, browser: Browser, tmp_path: Path
) -> None:
    api.trust()
    with serving("--root", str(api.root), home=tmp_path) as site:  # one project has its page at the top
        browser.goto(site.address)
        browser.click("text=Start a run…")
        browser.fill("#prompt-text", f"Fix it, then say {DONE}.")
        browser.click("dialog button[type=submit]")
        browser.see(".stream .words", "I begin.")
        run_id = browser.run("() => decodeURIComponent(location.hash.split('/').pop())")
        browser.goto("about:blank")  # a page whose server ends would complain
    wait_for((api.root / "started").exists, "the agent's start")
    with serving("--root", str(api.root), home=tmp_path) as site:
        browser.goto(f"{site.address}#/run/{run_id}")
        browser.see(".run-title", "running")
        browser.click("text=Stop…")
        browser.click("dialog button:has-text('Now')")
        browser.see(".run-title", "cancelled")
        (api.root / "go").touch()
        browser.click("text=Resume…")
        browser.see("dialog", f"ralph resume {run_id}")
        browser.click("dialog button[type=submit]")
        browser.see(".run-title", "completed")
        assert browser.complaints == []
        with site.client() as client:
            again = client.post(f"/api/runs/{run_id}/resume", json={})
            assert again.status_code == 409
            assert "cannot be resumed" in again.json()["error"]
            assert client.post("/api/runs/nothing/resume", json={}).status_code == 409


# --- what is told ---


def test_all_projects_are_folded_and_each_keeps_its_own_page(
    site: Site, shop: RealProject, api: RealProject
) -> None:
    with closing(LiveRun(api.state, "r9", prompt="Faster answers")) as live, site.client() as client:
        live.iterate(1, Verdict.FAILED)
        state = state_of(client)
        assert [each["name"] for each in state["projects"]] == ["shop", "api"]
        assert [(each["kind"], each["title"], each["reason"]) for each in state["waiting"]] == [
            ("task", "T-1 totals", "the tests never passed")
        ]
        assert [(run["id"], run["title"]) for run in state["runs"]] == [("r9", "Faster answers")]
        assert state["totals"]["live"] == 1
        keys = keys_of(client)
        cards = [card for lane in state["boards"][0]["lanes"] for card in lane["cards"]]
        assert [(card["id"], card["project"]) for card in cards] == [("T-1", keys["shop"])]
        own = client.get(f"/api/projects/{keys['api']}/state").json()
        assert (own["project"], [run["id"] for run in own["runs"]], own["boards"]) == ("api", ["r9"], [])
        assert client.get(f"/api/projects/{keys['api']}/runs/r9").json()["run"]["id"] == "r9"
        assert client.get(f"/api/projects/{keys['shop']}/runs/r9").status_code == 404
        assert client.get("/api/runs/r9").status_code == 404
        assert client.get("/api/projects/nothing/state").status_code == 404


def test_the_stream_tells_of_every_project(site: Site, shop: RealProject, api: RealProject) -> None:
    with site.client() as client, client.stream("GET", "/api/stream") as answer:
        news = frames(answer.iter_lines())
        assert next(news)[2]["runs"] == []
        with closing(LiveRun(api.state, "r9")):
            assert [run["id"] for run in next(news)[2]["runs"]] == ["r9"]
            with closing(LiveRun(shop.state, "r8")):
                told = next(data for _, _, data in news if len(data["runs"]) == 2)
                assert {run["id"] for run in told["runs"]} == {"r8", "r9"}


def test_a_bad_project_is_told_and_takes_no_other_down(
    shop: RealProject, api: RealProject, tmp_path: Path
) -> None:
    damaged, newer, bare = tmp_path / "damaged", tmp_path / "newer", tmp_path / "bare"
    for folder in (damaged, newer):
        (folder / ".ralph").mkdir(parents=True)
    bare.mkdir()
    (damaged / ".ralph" / "ralph.db").write_bytes(b"no database at all " * 100)
    with closing(sqlite3.connect(newer / ".ralph" / "ralph.db")) as database:
        database.execute("PRAGMA user_version = 999")
    roots = [shop.root, tmp_path / "missing", damaged, newer, bare, shop.root]
    given = [word for root in roots for word in ("--root", str(root))]
    with serving(*given, home=tmp_path) as site, site.client() as client:
        state = state_of(client)
        problems = {each["name"]: each["problem"] for each in state["projects"]}
        assert list(problems) == ["shop", "missing", "damaged", "newer", "bare"]  # each once
        assert "is not a folder" in problems["missing"]
        assert "damaged" in problems["damaged"]
        assert "newer ralph" in problems["newer"]
        assert not problems["bare"]
        assert not problems["shop"]
        assert [each["kind"] for each in state["waiting"]] == ["project", "project", "project", "task"]
        keys = keys_of(client)
        for name in ("missing", "damaged"):
            assert client.get(f"/api/projects/{keys[name]}/runs/r1").status_code == 503
        refused = client.post(f"/api/projects/{keys['missing']}/work", json={})
        assert (refused.status_code, "not a folder" in refused.json()["error"]) == (503, True)
        shop.root.rename(tmp_path / "moved")
        assert wait_for(
            lambda: next(each["problem"] for each in state_of(client)["projects"] if each["name"] == "shop"),
            "the loss",
        )


# --- what is started ---


def test_work_is_started_once_and_without_anyone_s_word_not_at_all(
    shop: RealProject, api: RealProject, tmp_path: Path
) -> None:
    """Not even if the page's own environment waives the question."""
    shop.add_task("T-2")
    given = ("--root", str(shop.root), "--root", str(api.root))
    with serving(*given, home=tmp_path, RALPH_TRUST="1") as site, site.client() as client:
        top = f"/api/projects/{keys_of(client)['shop']}"
        refused = client.post(f"{top}/work", json={})
        assert refused.status_code == 409
        assert "is not trusted" in refused.json()["error"]
        assert f"ralph trust --project-dir {shop.root}" in refused.json()["hint"]
        assert shop.status_of("T-2") is TaskStatus.OPEN
        shop.trust()
        begun = client.post(f"{top}/work", json={})
        assert begun.status_code == 200, begun.text
        run_id = begun.json()["run"]
        wait_for(lambda: shop.status_of("T-2") is TaskStatus.DONE, "the task")
        wait_for(
            lambda: not client.get(f"{top}/runs/{run_id}").json()["run"]["live"], "the end of `ralph work`"
        )
        wait_for(lambda: not psutil.Process(site.process.pid).children(), "an end without a zombie")


@pytest.mark.parametrize(
    ("prompt", "status", "words"),
    [("", 409, "empty"), (" \n", 409, "empty"), ("a\0b", 409, "UTF-8"), ("x" * 20_001, 413, "20,000")],
)
def test_a_prompt_that_is_none_starts_nothing(
    site: Site, api: RealProject, prompt: str, status: int, words: str
) -> None:
    with site.client() as client:
        answer = client.post(f"/api/projects/{keys_of(client)['api']}/runs", json={"prompt": prompt})
        assert answer.status_code == status
        assert words in answer.json()["error"]
    assert not (api.state / "ralph.db").exists()


def test_what_is_no_text_is_no_prompt(site: Site) -> None:
    with site.client() as client:
        place = f"/api/projects/{keys_of(client)['shop']}/runs"
        for prompt in (5, {"a": 1}, ["x"], None, True):
            answer = client.post(place, json={"prompt": prompt})
            assert answer.status_code == 400, answer.text


def test_a_project_that_was_removed_is_not_made_again(site: Site, shop: RealProject) -> None:
    with site.client() as client:
        place = f"/api/projects/{keys_of(client)['shop']}/work"
        shutil.rmtree(shop.root)
        answer = client.post(place, json={})
        assert answer.status_code == 409
        assert "is not there any more" in answer.text
        assert not shop.root.exists()


STARTS = ["work", "runs", "runs/r9/resume", "runs/r9/stop", "tasks/T-1/retry", "tasks/T-1/cancel"]


@pytest.mark.parametrize("path", STARTS)
@pytest.mark.parametrize("several", [True, False])
def test_only_the_page_itself_may_start_and_change_anything(
    shop: RealProject, api: RealProject, tmp_path: Path, path: str, several: bool
) -> None:
    shop.trust()
    more = ("--root", str(api.root)) if several else ()
    with serving("--root", str(shop.root), *more, home=tmp_path) as site:
        with site.client() as client:
            place = f"/api/projects/{keys_of(client)['shop']}/{path}" if several else f"/api/{path}"
            for headers in (
                {"origin": "https://evil.example"},
                {"origin": "null"},
                {"origin": "http://127.0.0.1:1"},
                {"sec-fetch-site": "cross-site"},
            ):
                assert client.post(place, json={"prompt": "x"}, headers=headers).status_code == 403
            form = {"content-type": "application/x-www-form-urlencoded"}
            assert client.post(place, content="prompt=x", headers=form).status_code == 415
            assert client.get(place).status_code in (404, 405)
        for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"token={site.token}"}):
            with site.stranger(**headers) as stranger:
                assert stranger.post(place, json={"prompt": "x"}).status_code == 401
                assert stranger.post(f"{place}?token={site.token}", json={}).status_code == 401
    assert shop.status_of("T-1") is TaskStatus.FAILED
    assert not (shop.state / "runs").exists()


def test_a_read_only_page_starts_nothing(shop: RealProject, api: RealProject, tmp_path: Path) -> None:
    given = ("--root", str(shop.root), "--root", str(api.root), "--read-only")
    with serving(*given, home=tmp_path) as site, site.client() as client:
        state = state_of(client)
        assert state["readOnly"] is True
        for each in state["projects"]:
            assert client.post(f"/api/projects/{each['key']}/runs", json={"prompt": "x"}).status_code == 403


# --- which projects ---


def web(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ralph", "web", "--port", "0", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--all"], "projects.remember"),
        (["--all", "--root", "."], "exclude each other"),
        (["--root", "missing"], "missing is not a folder"),
        (["--root", "missing", "--root", "absent"], "missing is not a folder"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, arguments: list[str], words: str) -> None:
    ran = web(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert words.replace("projects.remember", '"remember": true') in ran.stderr
    assert "Traceback" not in ran.stderr


def test_all_shows_what_was_remembered_and_says_what_is_gone(
    shop: RealProject, api: RealProject, tmp_path: Path, own_home: Path
) -> None:
    environ = {"XDG_STATE_HOME": str(own_home / ".local" / "state")}
    for path in (shop.root, tmp_path / "gone", api.root):
        add_project(str(path), environ)
    with serving("--all", home=own_home) as site:
        with site.client() as client:
            assert list(keys_of(client)) == ["shop", "api"]
        site.process.terminate()
        assert site.process.stderr is not None
        assert f"they are gone: {tmp_path / 'gone'}" in site.process.stderr.read()


@pytest.mark.parametrize("place", ["user", "project", "local", "nowhere"])
def test_only_the_user_s_own_setting_makes_ralph_remember(
    api: RealProject, own_home: Path, place: str
) -> None:
    (api.root / "go").touch()
    files = {
        "user": own_home / ".config" / "ralph" / "settings.json",
        "local": api.state / "settings.local.json",
    }
    wanted = {"projects": {"remember": True}}
    if place == "project":
        api.settings(**json.loads((api.state / "settings.json").read_text()), **wanted)
    elif place in files:
        files[place].parent.mkdir(parents=True, exist_ok=True)
        files[place].write_text(json.dumps(wanted))
    api.trust()
    api.ralph("run", f"Say {DONE}.")
    store = own_home / ".local" / "state" / "ralph" / "projects.json"
    listed = json.loads(store.read_text())["projects"] if store.exists() else []
    assert listed == ([str(api.root)] if place == "user" else [])
