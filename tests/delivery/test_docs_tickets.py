"""What docs/tickets.md says about trackers, tried on one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .shipping import GREEN, ShipProject, on_each_push
from .ticket_projects import BODY, change_settings, statuses, ticket_project
from .world.forge import Forge

PAGE = (Path(__file__).parents[2] / "docs" / "tickets.md").read_text()
SOURCE = "github:owner1/demo"


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ticket_project(forge, tmp_path)


def labels(forge: Forge, number: int) -> set[str]:
    return {label["name"] for label in forge.issue(number)["labels"]}


def test_import_shows_what_the_page_shows(project: ShipProject, forge: Forge) -> None:
    first = forge.open_issue("Add a sum", BODY, labels=["ralph"])
    text = f"Blocked by #{first}\n\n## Done when\n\n- tax.txt holds 19\n"
    second = forge.open_issue("Add the tax", text, labels=["ralph"])
    third = forge.open_issue("Make it nicer", "Please.", labels=["ralph"])
    forge.comment("stranger", "Me too!", number=first)
    (shown,) = re.findall(r"```console\n\$ ralph task import [^\n]*\n(.*?)```", PAGE, re.DOTALL)
    for there, here in (("#7", first), ("#9", second), ("#11", third)):
        shown = shown.replace(there, f"#{here}")
    shown = shown.replace("octo/hello", "owner1/demo").replace("hello-7", f"demo-{first}")
    lines = " ".join(shown.replace("hello-9", f"demo-{second}").partition("Import ")[0].split())

    ran = project.ralph("task", "import", SOURCE, "--dry-run", check=0)

    assert " ".join(ran.stdout.split()) == lines
    assert not forge.comments(second)


def test_a_ticket_whose_pull_request_a_person_merged_is_told_by_the_next_work(
    project: ShipProject, forge: Forge
) -> None:
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    on_each_push(forge, [("build", GREEN)], branch=f"ralph/demo-{number}")
    change_settings(project, delivery="pr")
    project.ralph("work", "--from", SOURCE, check=0)
    (pull,) = forge.pulls()
    (ready,) = forge.comments(number)
    assert "Its pull request into `main` is" in ready["body"]
    assert len(labels(forge, number)) == 2  # its own, and this machine's
    forge.merge_by("owner", pull["number"])
    forge.api("PATCH", f"/issues/{number}", {"state": "closed"})  # as GitHub does for "Closes"

    project.ralph("work", check=0)

    assert statuses(project) == {f"demo-{number}": "done"}
    assert labels(forge, number) == {"ralph", "ralph:done"}
    (comment,) = forge.comments(number)
    assert comment["id"] == ready["id"]
    assert "is merged into `main`" in comment["body"]


def test_a_ticket_that_another_machine_holds_waits(project: ShipProject, forge: Forge) -> None:
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    project.ralph("task", "import", SOURCE, "--yes", check=0)
    forge.label(number, "ralph:laptop-3f2a")

    said = project.ralph("work", check=5).stderr

    assert "remove the label ralph:laptop-3f2a if that machine is gone" in " ".join(said.split())
    assert labels(forge, number) == {"ralph", "ralph:laptop-3f2a"}
    assert statuses(project) == {f"demo-{number}": "open"}


def test_a_ticket_that_loses_its_label_is_not_wanted_any_more(project: ShipProject, forge: Forge) -> None:
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    project.ralph("task", "import", SOURCE, "--yes", check=0)
    forge.unlabel(number, "ralph")

    project.ralph("work", "--from", SOURCE)
    assert statuses(project) == {f"demo-{number}": "cancelled"}
    forge.label(number, "ralph")
    project.ralph("task", "retry", f"demo-{number}", check=0)
    project.ralph("work", check=0)

    assert statuses(project) == {f"demo-{number}": "done"}


def test_nothing_is_said_about_work_that_was_not_accepted(forge: Forge, tmp_path: Path) -> None:
    project = ticket_project(forge, tmp_path, before="exit 0")
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    change_settings(
        project, profiles={"verified": {"stages": ["coder"], "roles": {"coder": {"maxIterations": 1}}}}
    )

    project.ralph("work", "--from", SOURCE, check=1)

    assert statuses(project) == {f"demo-{number}": "failed"}
    assert not forge.comments(number)
    assert any(name.startswith("ralph:") for name in labels(forge, number))


def test_a_tracker_that_is_away_at_the_start_begins_nothing(project: ShipProject, forge: Forge) -> None:
    forge.open_issue("Add the file", BODY, labels=["ralph"])
    forge.misbehave("/issues", status=502)

    project.ralph("work", "--from", SOURCE, check=5)
    project.ralph("task", "import", SOURCE, "--yes", check=5)

    assert statuses(project) == {}
