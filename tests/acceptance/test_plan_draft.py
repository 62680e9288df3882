"""``ralph plan draft``: drafted by an agent, checked by the harness, kept by the user."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pexpect
import pytest

from tests.plan_documents import story_json, tasks_json

from .conftest import Project

WISH = "Search results can be filtered"


def prd(text: str = "# PRD\n\nPeople cannot filter.\n") -> dict[str, Any]:
    return {"write": {"path": "ralph/prd.md", "content": text}}


def tasks(*stories: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"write": {"path": "ralph/tasks.json", "content": json.dumps(tasks_json(*stories, **top))}}


@pytest.fixture
def planned(project: Project) -> Project:
    project.settings(agent={"command": "claude"})
    project.ralph("plan", "new", check=0)
    return project


def stories(project: Project) -> list[str]:
    return [
        story["id"] for story in json.loads((project.root / "ralph/tasks.json").read_text())["userStories"]
    ]


def test_a_draft_is_sent_back_until_it_is_valid(planned: Project) -> None:
    planned.agent(
        [prd(), tasks(story_json("A", acceptanceCriteria=[]), story_json("B", dependsOn=["C"], passes=True, notes="x"))],
        [tasks(story_json("A"), story_json("B"), verifyCommands=["make test"])],
    )  # fmt: skip

    ran = planned.ralph("plan", "draft", WISH, "--yes", check=0)

    assert stories(planned) == ["A", "B"]
    assert WISH in planned.prompt(1)
    assert "Write `ralph/prd.md`" in planned.prompt(1)
    second = planned.prompt(2)
    for problem in (
        "- A: acceptanceCriteria must not be empty",
        "- B: dependsOn names 'C', which is not a story",
    ):
        assert problem in second
    assert "2 stories × ~3 iterations each" in ran.stdout  # noqa: RUF001
    assert "A works" in ran.stdout
    assert "verifyCommands:\n  runs make test\n" in ran.stdout
    planned.ralph("plan", "check", check=0)


def test_a_draft_from_an_existing_prd_keeps_it(planned: Project) -> None:
    (planned.root / "wish.md").write_text("# The wish\n\nFilters.\n")
    planned.agent([prd("something else"), tasks(story_json("A"))], [{"say": "ok"}])

    planned.ralph("plan", "draft", "--prd", "wish.md", "--yes", check=0)

    assert (planned.root / "ralph/prd.md").read_text() == "# The wish\n\nFilters.\n"
    assert "read-only" in planned.prompt(1)
    assert "prd.md: must not be changed: it was put back" in planned.prompt(2)


def test_a_draft_that_never_becomes_valid_leaves_the_old_files(planned: Project) -> None:
    before = {path.name: path.read_text() for path in (planned.root / "ralph").iterdir()}
    planned.agent([prd(), tasks(story_json("A", passes="yes"))])

    ran = planned.ralph("plan", "draft", WISH, "--yes", "--rounds", "2", check=1)

    assert "the old files were put back" in ran.stderr
    assert {path.name: path.read_text() for path in (planned.root / "ralph").iterdir()} == before


def test_a_resumed_draft_keeps_its_rounds_or_gets_the_new_number(planned: Project) -> None:
    planned.agent([prd(), tasks(story_json("A", passes="yes"))])
    planned.ralph("plan", "draft", WISH, "--yes", "--rounds", "2", check=1)
    ((run_id,),) = planned.rows("SELECT id FROM runs")

    planned.ralph("resume", run_id, check=1)
    assert planned.rows("SELECT max(iteration) FROM iterations") == [(2,)]

    planned.ralph("resume", run_id, "-m", "7", check=1)
    assert planned.rows("SELECT max(iteration) FROM iterations") == [(7,)]


def test_what_cannot_be_drafted_is_said_before_the_agent_is_asked(planned: Project) -> None:
    planned.agent([{"touch": "asked"}])
    assert "no terminal to ask on" in planned.ralph("plan", "draft", WISH, check=2, stdin="").stderr
    assert "nothing to draft from" in planned.ralph("plan", "draft", "--yes", check=2).stderr
    assert "is not a file with text" in planned.ralph("plan", "draft", "--prd", "no", "--yes", check=2).stderr
    (planned.root / "ralph/tasks.json").write_text(
        json.dumps(tasks_json(story_json("A", reviewStatus="needs_review")))
    )
    assert "have already been worked on" in planned.ralph("plan", "draft", WISH, "--yes", check=2).stderr
    assert not (planned.root / "asked").exists()


def test_without_a_plan_the_user_is_told_to_make_one_first(project: Project) -> None:
    assert "ralph plan new" in project.ralph("plan", "draft", WISH, "--yes", check=2).stderr


def test_on_a_terminal_the_user_is_asked_and_heard(planned: Project) -> None:
    planned.agent(
        [prd(), tasks(story_json("A"))],
        [tasks(story_json("A"), story_json("B"))],
    )
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "ralph", "plan", "draft", WISH],
        cwd=str(planned.root),
        env={**planned.env(), "TERM": "dumb"},
        encoding="utf-8",
        timeout=90,
        dimensions=(40, 200),
    )
    try:
        terminal.expect_exact("what should change)")
        terminal.sendline("there must be a second story")
        terminal.expect_exact("what should change)")
        terminal.sendline("y")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)

    assert terminal.exitstatus == 0
    assert stories(planned) == ["A", "B"]
    assert "there must be a second story" in planned.prompt(1)


def test_a_refused_draft_gives_the_old_files_back(planned: Project) -> None:
    before = (planned.root / "ralph/tasks.json").read_text()
    planned.agent([prd(), tasks(story_json("A"))])
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "ralph", "plan", "draft", WISH],
        cwd=str(planned.root),
        env={**os.environ, **planned.env(), "TERM": "dumb"},
        encoding="utf-8",
        timeout=90,
    )
    try:
        terminal.expect_exact("what should change)")
        terminal.sendline("n")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)

    assert terminal.exitstatus == 1
    assert (planned.root / "ralph/tasks.json").read_text() == before


def test_another_agent_and_model_may_be_asked(planned: Project) -> None:
    planned.agent([prd(), tasks(story_json("A"))], name="codex")

    said = planned.ralph("plan", "draft", WISH, "--yes", "--agent", "codex", "-m", "small", check=0).stderr

    assert "agent codex" in said
    assert stories(planned) == ["A"]
