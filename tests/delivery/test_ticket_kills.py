"""`kill -9` around every request that writes to the tracker, and in between: nothing is done twice, and nothing is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from .killing import Gate, kill_at_gate, kill_at_request
from .shipping import GREEN, ShipProject, on_each_push
from .ticket_projects import BODY, change_settings, statuses, ticket_project
from .ticket_sights import FROM, holder_of, holders, labels, said, sessions
from .world.forge import Forge

TAKE = r"POST .*/issues/1/labels$"
COMMENT = r"POST .*/issues/1/comments$"
FREE = r"DELETE .*/issues/1/labels/"
CLOSE = r"PATCH .*/issues/1$"

WRITES: tuple[tuple[str, Callable[[Forge], bool]], ...] = (
    (TAKE, lambda forge: bool(holders(forge, 1))),
    (COMMENT, lambda forge: len(forge.comments(1)) == 1),
    (TAKE, lambda forge: "ralph:done" in labels(forge, 1)),
    (FREE, lambda forge: not holders(forge, 1)),
    (CLOSE, lambda forge: forge.issue(1)["state"] == "closed"),
)
"""In the order in which they come, and how to see that the forge has done each."""


def one_ticket(forge: Forge, folder: Path, *, before: str = "") -> ShipProject:
    project = ticket_project(forge, folder, before=before, tickets={"close": "always"})
    assert forge.open_issue("Add the file", BODY, labels=["ralph"]) == 1
    return project


def require_done_once(project: ShipProject, *, after: int = 1, is_delivered: bool = False) -> None:
    """``after``: so many sessions."""
    forge = project.forge
    assert statuses(project) == {"demo-1": "done"}
    assert sessions(project) == ["demo-1"] * after
    assert labels(forge, 1) == {"ralph", "ralph:done"}
    assert forge.issue(1)["state"] == "closed"
    assert "ralph: done." in said(forge, 1)
    git = forge.git if is_delivered else project.git
    assert len(git("log", "--format=%H", "main", "--", "demo-1.txt").split()) == 1
    assert len(forge.pulls()) == is_delivered


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_killed_at_every_request_that_writes(forge: Forge, tmp_path: Path, is_done: bool) -> None:
    """One kill after the other, each of a process that began where the last one was killed."""
    project = one_ticket(forge, tmp_path)
    own: set[str] = set()

    for request, is_there in WRITES:
        kill_at_request(project, request, *FROM, done=partial(is_there, forge) if is_done else None)
        own |= holders(forge, 1)
    project.ralph(*FROM, check=0)

    require_done_once(project)
    assert own == {holder_of(project)}, "after a kill the claim is the same machine's"


def test_killed_while_its_pull_request_is_merged(forge: Forge, tmp_path: Path) -> None:
    """GitHub closes the ticket by itself then, before ralph knows of the merge: that is no sign that nobody wants it."""
    project = one_ticket(forge, tmp_path)
    on_each_push(forge, [("build", GREEN)], branch="ralph/demo-1")
    change_settings(project, delivery="pr", pullRequest={"merge": "squash", "wait": 0})

    kill_at_request(project, r"PUT .*/pulls/2/merge$", *FROM, done=lambda: forge.pull(2)["merged"])
    forge.edit_issue("owner", 1, state="closed")
    kill_at_request(project, COMMENT, *FROM, done=lambda: len(forge.comments(1)) == 1)
    project.ralph("work", check=0)

    require_done_once(project, is_delivered=True)


def test_killed_in_a_session_and_while_it_is_merged(forge: Forge, tmp_path: Path) -> None:
    session, merge = Gate(tmp_path / "session"), Gate(tmp_path / "merge")
    project = one_ticket(forge, tmp_path, before=session.script)
    is_task = 'test "$(git rev-parse --abbrev-ref HEAD)" = ralph/demo-1'
    change_settings(project, guardrails=[f"{is_task} || {{ {merge.script}; }}"])

    kill_at_gate(project, session, *FROM)
    assert holders(forge, 1) == {holder_of(project)}
    kill_at_gate(project, merge, *FROM)
    assert statuses(project) == {"demo-1": "accepted"}
    assert not forge.comments(1), "nothing is told before it is merged"
    project.ralph(*FROM, check=0)

    require_done_once(project, after=2)


def test_a_kill_leaves_no_claim_on_a_ticket_that_is_closed_meanwhile(forge: Forge, tmp_path: Path) -> None:
    project = one_ticket(forge, tmp_path)

    kill_at_request(project, TAKE, *FROM, done=lambda: bool(holders(forge, 1)))
    forge.edit_issue("owner", 1, state="closed")
    project.ralph(*FROM)

    assert statuses(project) == {"demo-1": "cancelled"}
    assert labels(forge, 1) == {"ralph"}
    assert not forge.comments(1)
    assert sessions(project) == []
