"""Sources and tickets that are wrong, hostile or too large: each gets a plain answer, and none gets further than it may."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import wait_for

from .killing import shipping
from .shipping import ShipProject, over_https
from .ticket_projects import BODY, prompt_of, statuses, ticket_project
from .ticket_sights import FROM, SOURCE, labels, sessions, writes
from .world.forge import Forge

LOOK = r"GET .*/issues\?"
IMPORT = ("task", "import", SOURCE)
HIDDEN = "\x1b[31m\u202e\u2066\u200b\x07"
"""A colour, letters that turn the line around or are not there, and a bell."""
UNSAFE = set(HIDDEN) - set("[31m")


@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ticket_project(forge, tmp_path)


def looked_at(project: ShipProject, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.ralph(*IMPORT, *arguments, "--json", check=0).stdout)
    return found


WRONG = {
    "github:nonsense": (2, "github:nonsense names no repository"),
    "github:": (2, "names no repository"),
    "github:a/b/c/d/e": (2, "names no repository"),
    "github:owner1/../demo": (2, "names no repository"),
    "gitlab:owner1/demo": (2, "gitlab:"),
    "github:owner1/nothing": (4, "GitHub has no repository owner1/nothing, or you may not see it"),
}


def test_no_such_source(project: ShipProject) -> None:
    commands = cycle([("task", "import", "--yes"), ("work", "--from")])
    for (source, (code, told)), command in zip(WRONG.items(), commands, strict=False):
        ran = project.ralph(*command, source)
        assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
        assert told in " ".join(ran.stderr.split())
    assert not sessions(project)


def test_a_private_repository(project: ShipProject, forge: Forge) -> None:
    """One who may not see it, one who may read only, and nobody at all."""
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    forge.make_private()

    over_https(project, "stranger")
    unseen = project.ralph(*FROM, check=4)
    over_https(project, "reader")
    unwritten = project.ralph(*FROM)
    del project.environment["GITHUB_TOKEN"]
    nobody = project.ralph(*FROM, check=4)

    assert "has no repository owner1/demo, or you may not see it" in " ".join(unseen.stderr.split())
    assert f"#{number} could not be taken" in " ".join((unwritten.stdout + unwritten.stderr).split())
    assert unwritten.returncode == 5
    assert "or set GITHUB_TOKEN" in nobody.stderr
    assert not sessions(project)
    assert labels(forge, number) == {"ralph"}


def test_hostile_letters_and_sizes(project: ShipProject, forge: Forge) -> None:
    """Nothing that a terminal or a person would misread gets out, and what is cut is said."""
    long = forge.open_issue("Write " + "x" * 240, BODY + "word " * 200_000, labels=["ralph"])
    odd = forge.open_issue(f"Add{HIDDEN} the file", f"Please{HIDDEN}.\n\n- [ ] it{HIDDEN} is there\n")
    forge.label(odd, "ralph", f"P1{HIDDEN}")
    blank = forge.open_issue("\u200b", BODY, labels=["ralph"])

    shown = project.ralph(*IMPORT, "--dry-run", check=0).stdout
    found = looked_at(project, "--yes")
    project.ralph(*FROM, check=0)

    assert not UNSAFE & set(shown)
    told = " ".join(shown.split())
    assert f"#{long}: left out: all text after the first 20,000 characters" in told
    assert f"#{blank} () is not taken: it has no title" in told
    tasks = {task["id"]: task for task in found["new"]}
    assert tasks[f"demo-{odd}"]["title"] == r"Add\u202e\u2066\x07 the file"
    assert tasks[f"demo-{odd}"]["completion_spec"]["acceptance_criteria"] == [r"it\u202e\u2066\x07 is there"]
    assert len(tasks[f"demo-{long}"]["description"]) < 21_000
    assert statuses(project) == {f"demo-{long}": "done", f"demo-{odd}": "done"}
    for number in (long, odd):
        assert not UNSAFE & set(prompt_of(project, f"demo-{number}"))


def test_a_limit_and_a_question_without_a_terminal(project: ShipProject, forge: Forge) -> None:
    numbers = [forge.open_issue(f"Add file {each}", BODY, labels=["ralph"]) for each in range(4)]

    unasked = project.ralph(*IMPORT, check=2)
    first = looked_at(project, "--limit", "3", "--yes")
    second = looked_at(project, "--limit", "3", "--yes")
    third = looked_at(project, "--yes")

    assert "there is no terminal to ask on" in unasked.stderr
    assert [task["id"] for task in first["new"]] == [f"demo-{number}" for number in numbers[:3]]
    assert [task["id"] for task in second["new"]] == [f"demo-{numbers[3]}"], "so many new ones"
    assert (third["new"], third["unchanged"], third["imported"]) == ([], 4, False)
    assert first["gone"] + second["gone"] == [], "what is beyond the limit is not gone"
    assert set(statuses(project).values()) == {"open"}
    assert not writes(forge), "an import tells the tracker nothing"


def test_two_imports_at_the_same_moment(project: ShipProject, forge: Forge) -> None:
    numbers = [forge.open_issue(f"Add file {each}", BODY, labels=["ralph"]) for each in range(5)]

    with shipping(project, *IMPORT, "--yes") as one, shipping(project, *IMPORT, "--yes") as two:
        with forge.hold(LOOK):
            wait_for(lambda: len(forge.requested(LOOK)) == 2, "both look", 60)
        ended = [(process.communicate(timeout=60), process.returncode) for process in (one, two)]

    assert statuses(project) == {f"demo-{number}": "open" for number in numbers}
    assert min(code for _, code in ended) == 0
    for (out, err), code in ended:
        assert code in (0, 2), err
        assert "Traceback" not in out + err
        assert code == 0 or "demo-" in err
