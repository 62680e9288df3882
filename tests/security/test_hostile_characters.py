"""Characters that turn text around or steer a terminal, in everything that a repository can name: none is printed as such."""

from __future__ import annotations

import json
import re

import pytest

from tests.acceptance.conftest import DONE, Project
from tests.plan_documents import story_json, tasks_json

from .conftest import git
from .ready_ralph import ReadyRalph

HOSTILE = "a\u202eb\u2066c\x9bd\x85e\u2028f\u200fg\x1b]0;owned\x07h"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMANDS = (
    ["status"], ["status", "--json"], ["logs"], ["logs", "--json"], ["show"], ["show", "--json"], ["show", "--receipt"],
    ["stats"], ["task", "list"], ["task", "list", "--json"], ["task", "show", "T-1"], ["task", "show", "T-1", "--json"],
    ["task", "export"], ["task", "export", "--json"], ["config", "show"], ["config", "show", "--json"],
    ["config", "validate"], ["plan", "status"], ["plan", "status", "--json"], ["plan", "check"], ["plan", "check", "--json"],
    ["run", "-p", "x", "--dry-run"], ["run", "-p", HOSTILE.replace("\0", ""), "--dry-run"], ["guard", HOSTILE],
    ["guard", "--json", HOSTILE], ["show", HOSTILE], ["task", "show", HOSTILE], [HOSTILE], ["status", "--project-dir", HOSTILE],
    ["task", "add", "-f", HOSTILE], ["bus", "read", "--json"], ["resume"], ["doctor"], ["trust", "--show"],
)  # fmt: skip


@pytest.fixture
def hostile(project: Project) -> Project:
    git(project.root, "init", "-q")
    git(project.root, "commit", "-q", "--allow-empty", "-m", "first")
    project.agent([{"say": f"{HOSTILE} {DONE}"}])
    project.settings(
        agent={"command": "claude", "environment": {"X": HOSTILE}},
        guardrails=[{"command": f"true # {HOSTILE}", "hint": HOSTILE}],
    )
    project.ralph("run", "-p", f"{HOSTILE} say {DONE}", "-m", "1", check=0)
    done = {"outcome": HOSTILE, "acceptance_criteria": [HOSTILE]}
    file = project.root / "tasks.json"
    file.write_text(json.dumps([{"id": "T-1", "title": HOSTILE, "description": HOSTILE, "completion": done}]))
    project.ralph("task", "add", "-f", str(file), check=0)
    (project.root / "ralph").mkdir()
    story = story_json("US-1", title=HOSTILE, acceptanceCriteria=[HOSTILE], notes=HOSTILE)
    plan = tasks_json(story, project=HOSTILE, verifyCommands=[f"true # {HOSTILE}"])
    (project.root / "ralph" / "tasks.json").write_text(json.dumps(plan))
    return project


@pytest.mark.parametrize("trust", ["1", ""])
def test_no_command_prints_them(hostile: Project, ready_ralph: ReadyRalph, trust: str) -> None:
    found_in = []
    (shown,) = ready_ralph.run([["plan", "status"]], cwd=hostile.root, environ=hostile.env(RALPH_TRUST=trust))
    assert (shown.code, b"202e" in shown.out) == (0, True)  # it is there to be printed
    for command in COMMANDS:
        (ended,) = ready_ralph.run([command], cwd=hostile.root, environ=hostile.env(RALPH_TRUST=trust))
        for printed in (ended.out.decode(), ended.err.decode()):
            if (found := RAW.search(printed)) is not None:
                found_in.append((command, printed[max(0, found.start() - 80) : found.end() + 20]))
    assert found_in == []


def test_json_still_means_the_same_characters(hostile: Project) -> None:
    lines = hostile.ralph("logs", "--json", check=0).stdout.splitlines()
    said = [json.loads(line) for line in lines]
    assert "\\u202e" in "".join(lines)
    assert any("\u202e" in json.dumps(each, ensure_ascii=False) for each in said)
    shown = json.loads(hostile.ralph("config", "show", "--json", check=0).stdout)
    assert "\u202e" in json.dumps(shown, ensure_ascii=False)
