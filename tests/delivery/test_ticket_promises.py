"""What a ticket is told is so: nothing is merged around its pull request, and nothing is done in words that nobody wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from .killing import Gate, shipping
from .shipping import GREEN, ShipProject, on_each_push
from .ticket_projects import BODY, change_settings, prompt_of, statuses, ticket_project
from .ticket_sights import SOURCE, labels
from .world.forge import Forge


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ticket_project(forge, tmp_path)


def test_work_that_has_a_pull_request_is_not_merged_here(project: ShipProject, forge: Forge) -> None:
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    on_each_push(forge, [("build", GREEN)], branch=f"ralph/demo-{number}")
    project.ralph("work", "--from", SOURCE, "--deliver", "pr", check=0)
    before = project.tip

    ran = project.ralph("work", check=5)  # without --deliver pr

    (pull,) = forge.pulls()
    assert not pull["merged_at"]
    assert project.tip == before
    assert "is open: `ralph work --deliver pr` follows it" in " ".join(ran.stderr.split())
    assert statuses(project) == {f"demo-{number}": "accepted"}
    assert forge.issue(number)["state"] == "open"
    assert "is merged" not in forge.comments(number)[0]["body"]


def test_a_task_is_begun_with_the_words_that_its_ticket_has_then(project: ShipProject, forge: Forge) -> None:
    """Also by a `ralph work` that takes nothing in."""
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    project.ralph("task", "import", SOURCE, "--yes", check=0)
    forge.edit_issue("owner", number, body=BODY.replace("it has one line", "it has two lines"))

    project.ralph("work", check=0)

    told = prompt_of(project, f"demo-{number}")
    assert "it has two lines" in told
    assert "it has one line" not in told
    assert "edited" not in forge.comments(number)[0]["body"]


def test_a_ticket_that_was_edited_during_the_work_is_told_what_was_judged(
    forge: Forge, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    project = ticket_project(forge, tmp_path, before=gate.script)
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    with shipping(project, "work", "--from", SOURCE) as process:
        gate.wait()
        forge.edit_issue("owner", number, body=BODY.replace("it has one line", "it has two lines"))
        gate.open()
        process.communicate(timeout=60)

    (comment,) = forge.comments(number)
    assert "was judged by the words from before" in comment["body"]
    assert forge.issue(number)["state"] == "open"
    assert "ralph:done" in labels(forge, number)


def test_what_changed_nothing_is_a_persons_to_close(forge: Forge, tmp_path: Path) -> None:
    project = ticket_project(
        forge, tmp_path, before="echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit 0"
    )
    profiles = {"verified": {"stages": ["coder"], "roles": {"coder": {"command": "true"}}}}
    change_settings(project, guardrails=["true"], profiles=profiles, tickets={"close": "always"})
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])

    ran = project.ralph("work", "--from", SOURCE)

    assert forge.issue(number)["state"] == "open"
    (comment,) = forge.comments(number)
    assert "without any change" in comment["body"]
    assert "look at it, because nothing was changed for it" in " ".join((ran.stdout + ran.stderr).split())
