"""A project whose record was made by version 0.1: this version reads it, shows the same, and resumes its runs.

``tests/data/record_0_1`` holds the record as text, see its README.md.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import DONE, Project

DATA = Path(__file__).parents[1] / "data" / "record_0_1"
QUESTIONS: dict[str, list[str]] = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
"""Commands that print JSON, by the name of the file that holds what version 0.1 printed."""


@pytest.fixture
def old(project: Project) -> Project:
    return rebuild(project)


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One for all tests that only look."""
    folder = tmp_path_factory.mktemp("old")
    for name in ("project", "programs"):
        (folder / name).mkdir()
    return rebuild(Project(folder / "project", folder / "programs"))


def rebuild(project: Project) -> Project:
    """The project as version 0.1 left it, in a new place and on this machine."""
    for name, text in json.loads((DATA / "files.json").read_text(encoding="utf-8")).items():
        path = project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(localize(text, project), encoding="utf-8")
    database = sqlite3.connect(project.root / ".ralph" / "ralph.db")
    database.executescript(localize((DATA / "ralph.sql").read_text(encoding="utf-8"), project))
    database.close()
    project.environment.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    # What is ignored is no longer a part of the work, so that no guardrail can rest on it.
    (project.root / ".gitignore").write_text(".ralph/\nstarted\n.ralph-active\n")
    project.git("init", "-q", "-b", "ralph/search")
    project.git("add", "-A")
    project.git("-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "as it was")
    return project


def places(project: Project) -> dict[str, str]:
    return {
        "@PROJECT@": str(project.root),
        "@PROGRAMS@": str(project.programs),
        "@PYTHON@": sys.executable,
        "@HOST@": socket.gethostname(),
    }


def localize(text: str, project: Project) -> str:
    for placeholder, here in places(project).items():
        text = text.replace(placeholder, here)
    return text


def ask(project: Project, question: list[str]) -> Any:
    """The JSON that a command prints: one document, or one a line."""
    out = project.ralph(*question, check=0).stdout
    try:
        answer = json.loads(out)
    except ValueError:
        answer = [json.loads(line) for line in out.splitlines()]
    return answer


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_shows_what_version_0_1_showed(read_only: Project, name: str) -> None:
    expected = json.loads(localize((DATA / "printed" / name).read_text(encoding="utf-8"), read_only))

    answer = ask(read_only, QUESTIONS[name])

    if name.startswith("report_"):  # what to do next is worded as this version words it
        assert bool(answer.pop("hint")) == bool(expected.pop("hint"))
    assert _without_additions(answer, expected) == expected


def _without_additions(answer: Any, expected: Any) -> Any:
    """Whoever reads the JSON gets all they got, with the same values; a new key breaks nobody."""
    match answer, expected:
        case dict(), dict():
            return {
                key: _without_additions(value, expected[key])
                for key, value in answer.items()
                if key in expected
            }
        case list(), list() if len(answer) == len(expected):
            return [_without_additions(*pair) for pair in zip(answer, expected, strict=True)]
        case _:
            return answer


def test_the_stored_word_of_a_decision_is_shown_in_words(read_only: Project) -> None:
    run = run_of(read_only, "reviewer: it is no good")
    stored = read_only.rows(f"SELECT decision FROM iterations WHERE run_id = '{run}'")
    assert ("giveup",) in stored

    shown = read_only.ralph("show", run, check=0).stdout

    assert "sent back: it is no good" in shown
    assert "giveup" not in shown


def test_the_task_that_was_given_up_is_failed_with_its_reason(read_only: Project) -> None:
    shown = read_only.ralph("task", "show", "T-bad", check=0).stdout

    assert "failed reviewer: it is no good" in shown
    listed = {
        line.split()[0]: line.split()[1]
        for line in read_only.ralph("task", "list", check=0).stdout.splitlines()
    }
    assert listed["T-bad"] == "failed"


def test_the_interrupted_run_is_resumed_with_its_feedback_and_limit(old: Project) -> None:
    old.agent([{"write": {"path": "made", "content": "yes\n"}}, {"say": f"Made it. {DONE}"}])
    run = run_of(old, "")

    old.ralph("resume", check=0)

    prompt = (old.root / ".ralph" / "runs" / run / "prompt_002_attempt2.txt").read_text()
    assert 'Guardrail "test -f made" failed' in prompt, "the feedback of the first iteration survived"
    assert "was interrupted before it ended" in prompt
    assert old.rows(f"SELECT iteration, attempt, decision FROM iterations WHERE run_id = '{run}'") == [
        (1, 1, "continue"),
        (2, 1, None),
        (2, 2, "accept"),
    ]
    assert old.rows(f"SELECT outcome FROM runs WHERE id = '{run}'") == [("completed",)]


def test_the_exhausted_run_is_resumed_with_a_new_limit(old: Project) -> None:
    old.agent([{"write": {"path": "made", "content": "yes\n"}}, {"say": f"Made it. {DONE}"}])
    run = run_of(old, "maximum iterations reached (2); still failing: test -f made")

    old.ralph("resume", run, "-m", "3", check=0)

    assert old.rows(f"SELECT outcome, json_extract(state, '$.iteration') FROM runs WHERE id = '{run}'") == [
        ("completed", 3)
    ]


def test_the_run_that_was_stopped_is_resumed_and_told_that_it_was_cut_off(old: Project) -> None:
    old.agent([{"say": DONE}])
    run = run_of(old, "stopped by the user")

    old.ralph("resume", run, check=0)

    prompt = (old.root / ".ralph" / "runs" / run / "prompt_001_attempt2.txt").read_text()
    assert "was interrupted before it ended" in prompt
    assert old.rows(f"SELECT outcome FROM runs WHERE id = '{run}'") == [("completed",)]


def test_failed_and_cancelled_tasks_can_be_tried_again(old: Project) -> None:
    old.ralph("task", "retry", "T-bad", "T-never", check=0)

    states = {task["id"]: task["state"] for task in ask(old, ["task", "list", "--json"])["tasks"]}

    assert states == {
        "T-good": "done",
        "T-later": "done",
        "T-bad": "ready",
        "T-never": "ready",
        "T-blocked": "waiting",
    }


def run_of(project: Project, reason: str) -> str:
    ((run,),) = project.rows(f"SELECT id FROM runs WHERE reason = '{reason}'")
    return str(run)
