"""A tracker that is away: work goes on, nothing is lost, and what it should have been told is told once, later."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import kinds, wait_for

from .killing import shipping
from .shipping import ShipProject
from .ticket_projects import BODY, statuses, ticket_project
from .ticket_sights import FROM, SOURCE, holders, labels, said, sessions, writes
from .world.forge import Forge

SECONDS = 45
HOUR = 3600
AWAY: dict[str, dict[str, Any]] = {
    "dropped": {"close": True},
    "502": {"status": 502, "body": "<html>bad gateway</html>"},
    "limited": {
        "status": 403,
        "headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + HOUR)},
        "body": {"message": "API rate limit exceeded"},
    },
}


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ticket_project(forge, tmp_path, tickets={"poll": 5})


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def status_of(project: ShipProject, number: int) -> str:
    return statuses(project).get(f"demo-{number}", "") if kinds(project) else ""


def add_local_task(project: ShipProject) -> None:
    """One that comes after every ticket."""
    done = ("--outcome", "It is there.", "--acceptance", "the file exists")
    project.ralph("task", "create", "LOCAL", "here", "Add another", *done, "--priority", "9", check=0)


def test_away_when_the_work_is_accepted(project: ShipProject, forge: Forge) -> None:
    """Other work goes on, the end says what is missing, and so does each later run until the ticket can be told, once."""
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    add_local_task(project)

    for kind, wrong in AWAY.items():
        forge.misbehave(rf"/issues/{number}/comments", **wrong)
        ran = project.ralph(*(("work",) if sessions(project) else FROM), check=0)
        told = " ".join((ran.stdout + ran.stderr).split())
        assert "1 ticket could not be told what became of the work" in told, kind
        assert "the next `ralph work` tells them" in told, kind
        assert statuses(project) == {f"demo-{number}": "done", "LOCAL": "done"}
        assert len(holders(forge, number)) == 1, "nobody else begins with it"
        forge.behave()
    project.ralph("work", check=0)

    assert "ralph: done." in said(forge, number)
    assert labels(forge, number) == {"ralph", "ralph:done"}
    before = writes(forge)
    project.ralph(*FROM, check=0)
    assert writes(forge) == before, "nothing is told twice"
    assert sessions(project) == ["LOCAL", f"demo-{number}"]


def test_away_at_the_start(project: ShipProject, forge: Forge) -> None:
    """Nothing was begun, and what is left to do and to tell is done as soon as it is back."""
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    add_local_task(project)

    refused = project.ralph(*FROM, GITHUB_API_URL=f"http://127.0.0.1:{closed_port()}", check=5)
    forge.misbehave(status=502)
    broken = project.ralph(*FROM, check=5)
    forge.behave()
    forge.misbehave(**AWAY["limited"])
    limited = project.ralph("task", "import", SOURCE, "--yes", check=5)
    forge.behave()

    assert "cannot be reached" in refused.stderr
    assert "GitHub answered 502" in broken.stderr
    assert "rate limit" in limited.stderr
    assert not sessions(project)
    assert statuses(project) == {"LOCAL": "open"}
    assert not writes(forge)
    project.ralph(*FROM, check=0)
    assert statuses(project) == {"LOCAL": "done", f"demo-{number}": "done"}


def test_away_when_a_ticket_is_to_be_taken(project: ShipProject, forge: Forge) -> None:
    """It hangs, then it fails: the other ticket is worked on meanwhile."""
    first, second = (forge.open_issue("Add a file", BODY, labels=["ralph"]) for _ in range(2))

    with shipping(project, *FROM, "--max-parallel", "2") as process:
        with forge.hold(rf"/issues/{second}$"):
            wait_for(lambda: status_of(project, first) == "done", "the first is done", SECONDS)
            forge.misbehave(rf"/issues/{second}$", status=502, times=1)
        out, err = process.communicate(timeout=SECONDS)

    assert process.returncode == 0, err
    assert f"#{second} waits to be taken: GitHub answered 502" in out + err
    for number in (first, second):
        assert labels(forge, number) == {"ralph", "ralph:done"}
        assert "ralph: done." in said(forge, number)


def test_a_watch_outlives_an_outage(project: ShipProject, forge: Forge) -> None:
    forge.open_issue("Nobody can check this", labels=["ralph"])
    look = r"GET .*/issues\?"

    with shipping(project, *FROM, "--watch") as process:
        wait_for(lambda: "warned" in kinds(project), "it has looked", SECONDS)
        forge.misbehave(status=502)
        looks = len(forge.requested(look))
        number = forge.open_issue("Add the file", BODY, labels=["ralph"])
        wait_for(lambda: len(forge.requested(look)) > looks, "it looks again", SECONDS)
        forge.behave()
        wait_for(lambda: statuses(project) == {f"demo-{number}": "done"}, "it takes the ticket", SECONDS)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)

    assert "GitHub answered 502" in out + err
    assert "the work goes on, and this is tried again" in out + err
    assert process.returncode == 130
    assert sessions(project) == [f"demo-{number}"]
    assert labels(forge, number) == {"ralph", "ralph:done"}
    assert "ralph: done." in said(forge, number)
