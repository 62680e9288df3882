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


def add_local_task(project: ShipProject) -> None:
    """One that comes after every ticket."""
    done = ("--outcome", "It is there.", "--acceptance", "the file exists")
    project.ralph("task", "create", "LOCAL", "here", "Add another", *done, "--priority", "9", check=0)


@pytest.mark.parametrize("kind", AWAY)
def test_away_when_the_work_is_accepted(project: ShipProject, forge: Forge, kind: str) -> None:
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    add_local_task(project)
    forge.misbehave(rf"/issues/{number}/comments", **AWAY[kind])

    ran = project.ralph(*FROM, check=0)

    told = ran.stdout + ran.stderr
    assert statuses(project) == {f"demo-{number}": "done", "LOCAL": "done"}
    assert "1 ticket could not be told what became of the work" in told
    assert "the next `ralph work` tells them" in told
    assert len(holders(forge, number)) == 1, "nobody else begins with it"
    forge.behave()
    project.ralph("work", check=0)
    assert "ralph: done." in said(forge, number)
    assert labels(forge, number) == {"ralph", "ralph:done"}
    before = writes(forge)
    project.ralph(*FROM)
    assert writes(forge) == before, "nothing is told twice"
    assert sorted(sessions(project)) == ["LOCAL", f"demo-{number}"]


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


def test_away_when_a_ticket_is_to_be_claimed(project: ShipProject, forge: Forge) -> None:
    """The other one is worked on meanwhile."""
    first, second = (forge.open_issue("Add a file", BODY, labels=["ralph"]) for _ in range(2))
    forge.misbehave(rf"/issues/{second}(/|$)", status=502, times=1)

    ran = project.ralph(*FROM, "--max-parallel", "2", check=0)

    assert f"#{second} waits to be claimed: GitHub answered 502" in ran.stdout + ran.stderr
    done = [event["task"] for event in project.events("task_reported")]
    assert done == [f"demo-{first}", f"demo-{second}"]
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
