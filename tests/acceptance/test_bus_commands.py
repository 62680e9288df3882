"""``ralph bus``: posting, reading and following messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Project
from .running import running


@pytest.fixture
def folder(project: Project) -> Path:
    folder = project.root / ".ralph" / "tasks" / "t"
    folder.mkdir(parents=True)
    return folder


def read(project: Project, *arguments: str) -> list[dict[str, object]]:
    out = project.ralph("bus", "read", "--json", *arguments, check=0).stdout
    return [json.loads(line) for line in out.splitlines()]


def test_what_was_posted_is_read_back_by_people_and_programs(project: Project, folder: Path) -> None:
    asked = project.ralph(
        "bus", "post", "--task", "t", "--type", "QUESTION", "which?\n## FACT x", check=0
    ).stdout.strip()
    project.ralph("bus", "post", "--task", "t", "--parent", asked, "-", stdin="the second\n", check=0)

    question, answer = read(project, "--task", "t")
    assert (question["id"], question["type"], question["body"]) == (asked, "QUESTION", "which?\n## FACT x")
    assert (answer["parents"], answer["body"], answer["task"]) == ([asked], "the second", "t")
    text = project.ralph("bus", "read", "--task-dir", str(folder), check=0).stdout
    assert "  which?\n  ## FACT x\n" in text
    assert f"  answers {asked}\n" in text
    assert "> the second\n" in (folder / "TASK-MESSAGE-BUS.md").read_text()


def test_a_supervised_agent_posts_to_its_own_task_by_default(project: Project, folder: Path) -> None:
    project.environment |= {
        "TASK_MESSAGE_BUS": str(folder / "TASK-MESSAGE-BUS.md"),
        "PROJECT_MESSAGE_BUS": str(project.root / ".ralph" / "PROJECT-MESSAGE-BUS.md"),
        "RALPH_TASK_ID": "t",
        "RALPH_PROJECT_ID": "shop",
        "RALPH_RUN_ID": "r1",
    }
    project.ralph("bus", "post", "mine", check=0)
    project.ralph("bus", "post", "--project-bus", "everybody's", check=0)

    (mine,) = read(project)
    (ours,) = read(project, "--project-bus")
    assert (mine["body"], mine["run"], mine["project"]) == ("mine", "r1", "shop")
    assert (ours["body"], ours["task"]) == ("everybody's", "t")


def test_messages_are_chosen_by_type_and_by_what_came_after(project: Project, folder: Path) -> None:
    first = project.ralph("bus", "post", "--task", "t", "one", check=0).stdout.strip()
    project.ralph("bus", "post", "--task", "t", "--type", "ERROR", "two", check=0)

    def bodies(*arguments: str) -> list[object]:
        return [message["body"] for message in read(project, "--task", "t", *arguments)]

    assert bodies("--type", "error") == ["two"]
    assert bodies("--type", "error", "--type", "INFO") == ["one", "two"]
    assert bodies("--since", first) == ["two"]
    assert bodies("--since", "1h") == ["one", "two"]
    assert bodies("--since", "2099-01-01") == []


def test_the_tail_goes_on_with_what_comes(project: Project, folder: Path) -> None:
    for number in range(3):
        project.ralph("bus", "post", "--task", "t", f"old {number}", check=0)
    with running(project, "tail", "--task", "t", "-n", "1", command="bus") as process:
        assert process.stdout is not None
        assert "old 2" in process.stdout.readline() + process.stdout.readline()
        project.ralph("bus", "post", "--task", "t", "new", check=0)
        assert "new" in process.stdout.readline() + process.stdout.readline()


def test_a_torn_tail_is_skipped_and_reported(project: Project, folder: Path) -> None:
    project.ralph("bus", "post", "--task", "t", "whole", check=0)
    bus = folder / "TASK-MESSAGE-BUS.md"
    bus.write_bytes(bus.read_bytes() + bus.read_bytes()[:60])

    ran = project.ralph("bus", "read", "--task", "t", check=0)

    assert ran.stdout.count("whole") == 1
    assert "never finished" in ran.stderr


def test_what_agents_wrote_cannot_command_the_terminal(project: Project, folder: Path) -> None:
    project.ralph("bus", "post", "--task", "t", "\x1b]0;title\x07red \x1b[31mtext", check=0)
    assert "\x1b" not in project.ralph("bus", "read", "--task", "t", check=0).stdout


def test_a_project_without_a_record_can_be_posted_to(project: Project) -> None:
    project.ralph("bus", "post", "first", check=0)
    assert [message["body"] for message in read(project)] == ["first"]
    assert (project.root / ".ralph" / ".gitignore").exists()


def test_nothing_is_on_a_bus_that_nobody_posted_to(project: Project) -> None:
    ran = project.ralph("bus", "read", check=0)
    assert ran.stdout == ""
    assert "nothing was posted to" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["post", "--task", "a/b", "x"], 2, "path separator"),
        (["post", "--task", "unknown", "x"], 2, "no folder"),
        (["post", "--type", "two words", "x"], 2, "type"),
        (["post", "--parent", "nobody", "x"], 2, "not the id"),
        (["post", "--task", "t", "--project-bus", "x"], 2, "only one of"),
        (["read", "--since", "yesterday"], 2, "neither a time nor the id"),
        (["read", "--since", "20261115T141500.123456Z-1a2b3c4d"], 2, "there is no message"),
        (["tail", "-n", "-1"], 2, "-n"),
        (["read", "--task", "nope"], 2, "there is no task folder"),
        (["read", "--task-dir", "nope"], 2, "there is no task folder"),
        (["read", "--task-dir", "odd"], 4, "is not a file"),
        (["post", "--task-dir", "odd", "x"], 4, "directory"),
    ],
)
def test_bad_input_of_the_bus_is_told_without_a_traceback(
    project: Project, folder: Path, arguments: list[str], code: int, words: str
) -> None:
    (project.root / "odd" / "TASK-MESSAGE-BUS.md").mkdir(parents=True)
    ran = project.ralph("bus", *arguments, check=code)
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_record_that_cannot_be_made_is_told(project: Project) -> None:
    (project.root / ".ralph").touch()
    ran = project.ralph("bus", "post", "x", check=4)
    assert "in the way" in ran.stderr


def test_a_body_that_is_not_text_is_refused(project: Project) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", "bus", "post", "-"],
        cwd=project.root,
        env=project.env(),
        input=b"\xff\xfe",
        capture_output=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 2
    assert b"UTF-8" in ran.stderr
