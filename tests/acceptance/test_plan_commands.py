"""``ralph plan new|check|status|archive``, as a user meets them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.plan_documents import story_json, tasks_json

from .conftest import Project

FILES = ["prd.md", "progress.txt", "prompt.md", "tasks.json"]
APPROVED = {"passes": True, "reviewStatus": "approved", "reviewCount": 2, "notes": "built"}


def write_tasks(project: Project, *stories: Any, **top: Any) -> None:
    (project.root / "ralph").mkdir(exist_ok=True)
    (project.root / "ralph" / "tasks.json").write_text(json.dumps(tasks_json(*stories, **top)))


def repository(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")


# --- new ---------------------------------------------------------------------------------------------------


def test_new_writes_the_files_fills_them_in_and_says_what_comes_next(project: Project) -> None:
    said = project.ralph("plan", "new", "--name", "search-filters", check=0).stdout

    folder = project.root / "ralph"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    tasks = json.loads((folder / "tasks.json").read_text())
    assert (tasks["branchName"], tasks["project"]) == ("ralph/search-filters", "project")
    assert tasks["userStories"][0]["reviewStatus"] is None
    progress = (folder / "progress.txt").read_text()
    assert f"Started: {time.strftime('%Y-')}" in progress
    assert "PRD: search-filters" in progress
    assert "{{" not in progress + (folder / "prd.md").read_text()
    prompt = (folder / "prompt.md").read_text()
    for word in (
        "$RALPH_ITERATION",
        "$RALPH_MAX_ITERATIONS",
        "<promise>COMPLETE</promise>",
        "Review-Fix mode",
    ):
        assert word in prompt
    for message in (
        "feat: [US-xxx] - [Title]",
        "review: [US-xxx] - approved",
        "review: [US-xxx] - changes requested",
        "fix: [US-xxx] - address review feedback",
    ):
        assert message in prompt
    assert (project.root / ".gitignore").read_text() == ".ralph-active\n"
    assert "Next steps:" in said
    assert "ralph plan run" in said


def test_new_never_overwrites_and_writes_only_what_is_missing(project: Project) -> None:
    folder = project.root / "plans"
    folder.mkdir()
    (folder / "prd.md").write_text("mine")
    (folder / "tasks.json").symlink_to("nowhere")
    (project.root / ".gitignore").write_text("*.o")

    said = project.ralph("plan", "new", "--ralph-dir", "plans", check=0).stdout
    assert "kept  plans/prd.md" in said
    assert "kept  plans/tasks.json" in said
    project.ralph("plan", "new", "--ralph-dir", "plans", "--name", "x", check=0)

    assert (folder / "prd.md").read_text() == "mine"
    assert (folder / "tasks.json").is_symlink()
    assert (project.root / ".gitignore").read_text() == "*.o\n.ralph-active\n"


def test_new_without_a_name_keeps_the_templates_branch_and_works_in_another_project(
    project: Project, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    project.ralph("plan", "new", "--project-dir", str(project.root), cwd=elsewhere, check=0)

    tasks = json.loads((project.root / "ralph" / "tasks.json").read_text())
    assert tasks["branchName"] == "ralph/feature-name"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a b", "a..b", "-x", "/x", "x/", "a~1", "x.lock", "a\nb", "y" * 101])
def test_a_name_that_no_branch_can_have_is_refused(project: Project, name: str) -> None:
    ran = project.ralph("plan", "new", f"--name={name}", check=2)
    assert "cannot be part of a branch name" in ran.stderr
    assert not (project.root / "ralph").exists()


@pytest.mark.parametrize("command", ["new", "check", "status", "archive"])
def test_a_plan_directory_out_of_the_project_is_refused(
    project: Project, tmp_path: Path, command: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tasks.json").write_text(json.dumps(tasks_json()))
    (project.root / "ralph").symlink_to(outside)

    for arguments in ([], ["--ralph-dir", "../outside"], ["--ralph-dir", "."]):
        ran = project.ralph("plan", command, *arguments, check=2)
        assert "is not inside the project" in ran.stderr
    assert [path.name for path in outside.iterdir()] == ["tasks.json"]


def test_a_plan_directory_that_is_a_circle_of_links_is_reported(project: Project) -> None:
    (project.root / "ralph").symlink_to("ralph")
    for command in ("status", "check", "new"):
        ran = project.ralph("plan", command)
        assert ran.returncode in (2, 4)
        assert "internal error" not in ran.stderr


def test_a_plan_directory_that_is_a_file_is_refused(project: Project) -> None:
    (project.root / "ralph").write_text("x")
    assert "is not a directory" in project.ralph("plan", "new", check=2).stderr


@pytest.mark.parametrize("command", ["check", "status", "archive"])
def test_without_a_plan_the_user_is_told_how_to_make_one(project: Project, command: str) -> None:
    ran = project.ralph("plan", command, check=2)
    assert "there is no plan" in ran.stderr
    assert "ralph plan new" in ran.stderr


# --- check -------------------------------------------------------------------------------------------------


def test_a_fresh_template_is_not_valid_yet_and_check_says_what_is_missing(project: Project) -> None:
    project.ralph("plan", "new", check=0)
    said = project.ralph("plan", "check", check=2).stdout
    assert "error: US-001: acceptanceCriteria must not be empty" in said
    assert "error: US-001: title must not be empty" in said


def test_a_story_without_a_title_is_a_problem(project: Project) -> None:
    write_tasks(project, story_json("A", title=" "), story_json("B"))
    said = project.ralph("plan", "check", check=2).stdout
    assert [line for line in said.splitlines() if line.startswith("error")] == [
        "error: A: title must not be empty"
    ]


def test_check_lists_every_problem_and_warns_of_what_makes_a_run_worth_little(project: Project) -> None:
    write_tasks(
        project,
        story_json("A", dependsOn=["B"]),
        story_json("B", dependsOn=["A"], passes=1),
        story_json("B", title="\x1b[31mred"),
    )
    said = project.ralph("plan", "check", check=2).stdout
    assert said.splitlines()[:2] == [
        "error: B: passes must be true or false, not a number",
        "error: B: id appears 2 times; ids must be unique",
    ]

    write_tasks(project, story_json("A", passes=True, notes="n"))
    said = project.ralph("plan", "check", check=2).stdout
    assert "error: Story A has passes=true but reviewStatus is 'null', not 'approved'." in said
    assert "warning: verifyCommands is empty" in said
    assert "warning: prd.md is missing" in said
    project.ralph("plan", "check", "--skip-review", check=0)


def test_a_valid_plan_is_called_so(project: Project) -> None:
    project.ralph("plan", "new", check=0)
    write_tasks(project, story_json("A"), verifyCommands=["make test"])
    assert "warning: prd.md is still the empty template" in project.ralph("plan", "check", check=0).stdout
    with (project.root / "ralph" / "prd.md").open("a") as prd:
        prd.write("\nPeople cannot find anything.\n")
    assert project.ralph("plan", "check", check=0).stdout == "the plan is valid (ralph/tasks.json)\n"
    assert json.loads(project.ralph("plan", "check", "--json", check=0).stdout) == {
        "valid": True,
        "problems": [],
        "warnings": [],
    }


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"userStories": 5}'])
def test_malformed_task_lists_are_named_without_a_traceback(project: Project, content: bytes) -> None:
    (project.root / "ralph").mkdir()
    (project.root / "ralph" / "tasks.json").write_bytes(content)
    for command in ("check", "status"):
        ran = project.ralph("plan", command, check=2)
        assert "tasks.json" in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr


# --- status ------------------------------------------------------------------------------------------------


def test_status_shows_mode_reviews_feedback_and_what_is_left(project: Project) -> None:
    write_tasks(
        project,
        story_json("US-1", **APPROVED),
        story_json(
            "US-2", reviewStatus="changes_requested", reviewCount=1, reviewFeedback="empty\x1b]0;x\x07 input"
        ),
        story_json("US-3", reviewStatus="needs_review"),
        story_json("US-4", dependsOn=["US-3"]),
        story_json("US-5", dependsOn=["US-1"]),
    )

    lines = project.ralph("plan", "status", check=0).stdout.splitlines()

    assert [line.split("  ")[0] for line in lines[:6]] == ["story", "US-1", "US-2", "US-3", "US-4", "US-5"]
    for line, word in zip(
        lines[1:6], ["done", "review-fix", "review", "waits for US-3", "implement"], strict=True
    ):
        assert f"  {word}" in line
    assert "2/5" in lines[1]
    assert lines[2].endswith("empty input")
    assert lines[7:] == [
        "1 of 5 stories done",
        "4 stories × ~2.75 iterations each = ~11 iterations needed",  # noqa: RUF001
        "next: review-fix US-2",
    ]


def test_status_as_json_has_everything(project: Project) -> None:
    write_tasks(project, story_json("A", **APPROVED), story_json("B"))

    shown = json.loads(project.ralph("plan", "status", "--json", "--ralph-dir", "ralph", check=0).stdout)

    assert (shown["done"], shown["total"], shown["estimatedIterations"]) == (1, 2, 3)
    assert shown["next"] == {"story": "B", "mode": "implement"}
    assert [story["next"] for story in shown["stories"]] == ["done", "implement"]
    skipped = json.loads(project.ralph("plan", "status", "--json", "--skip-review", check=0).stdout)
    assert skipped["estimatedIterations"] == 1


# --- archive -----------------------------------------------------------------------------------------------


def test_archive_moves_sums_up_resets_and_commits(project: Project) -> None:
    repository(project)
    project.ralph("plan", "new", "--name", "search", check=0)
    write_tasks(project, story_json("A", **APPROVED), story_json("B|x"))
    (project.root / "ralph" / "prd.md").write_text("the wish")
    (project.root / "ralph" / "prompt.md").write_text("my own prompt")
    (project.root / "unrelated.txt").write_text("mine")

    said = project.ralph("plan", "archive", check=0).stdout

    (archive,) = (project.root / "ralph-archive").iterdir()
    assert archive.name.endswith("-ralph-search")
    assert sorted(path.name for path in archive.iterdir()) == [
        "prd.md",
        "progress.txt",
        "summary.md",
        "tasks.json",
    ]
    assert (archive / "prd.md").read_text() == "the wish"
    summary = (archive / "summary.md").read_text()
    assert "- Stories completed: 1 of 2" in summary
    assert "| A | title of A | yes | 2 |  |" in summary
    assert f"- Dates: {time.strftime('%Y-')}" in summary
    assert (
        json.loads((project.root / "ralph" / "tasks.json").read_text())["branchName"] == "ralph/feature-name"
    )
    assert (project.root / "ralph" / "prompt.md").read_text() == "my own prompt"
    assert said.endswith("1 of 2 stories completed\ncommitted\n")
    assert "chore: archive the plan" in project.git("log", "--format=%s")
    left = project.git("status", "--porcelain")
    assert "ralph-archive" not in left
    assert "unrelated.txt" in left


def test_archiving_twice_on_one_day_makes_two_archives_and_a_label_names_one(project: Project) -> None:
    repository(project)
    for _ in range(2):
        write_tasks(project, story_json("A"))
        project.ralph("plan", "archive", "--label", "my label/../x", check=0)
    names = sorted(path.name for path in (project.root / "ralph-archive").iterdir())
    assert names[0].endswith("-my-label-..-x")
    assert names[1] == f"{names[0]}-2"


def test_without_git_the_archive_is_made_and_not_committed(project: Project) -> None:
    write_tasks(project, story_json("A"))
    said = project.ralph("plan", "archive", check=0).stdout
    assert said.endswith("not committed: this is not a git repository\n")


def test_a_damaged_task_list_is_archived_as_it_was(project: Project) -> None:
    (project.root / "ralph").mkdir()
    (project.root / "ralph" / "tasks.json").write_text("{")
    project.ralph("plan", "archive", "--label", "x", check=0)
    (archive,) = (project.root / "ralph-archive").iterdir()
    assert (archive / "tasks.json").read_text() == "{"
    assert "could not be read" in (archive / "summary.md").read_text()


def test_a_marker_that_was_left_behind_keeps_nobody_from_archiving(project: Project) -> None:
    for stale in ("{", json.dumps({"pid": os.getpid()}), json.dumps({"pid": -1}), "[]"):
        (project.root / ".ralph-active").write_text(stale)
        write_tasks(project, story_json("A"))
        project.ralph("plan", "archive", check=0)


@pytest.mark.parametrize("named", [(), ("--name", "search")])
def test_an_empty_template_is_not_archived(project: Project, named: tuple[str, ...]) -> None:
    repository(project)
    project.ralph("plan", "new", *named, check=0)

    assert "there is nothing to archive" in project.ralph("plan", "archive", check=2).stderr

    assert not (project.root / "ralph-archive").exists()


def test_archiving_again_finds_nothing_and_makes_nothing(project: Project) -> None:
    repository(project)
    write_tasks(project, story_json("A", **APPROVED))
    project.ralph("plan", "archive", check=0)

    assert "there is nothing to archive" in project.ralph("plan", "archive", check=2).stderr

    assert len(list((project.root / "ralph-archive").iterdir())) == 1
    assert len(project.git("log", "--format=%s").splitlines()) == 2


def test_a_prd_without_stories_can_be_archived(project: Project) -> None:
    project.ralph("plan", "new", check=0)
    (project.root / "ralph" / "prd.md").write_text("the wish")
    project.ralph("plan", "archive", check=0)
    (archive,) = (project.root / "ralph-archive").iterdir()
    assert (archive / "prd.md").read_text() == "the wish"


def test_what_git_could_not_commit_the_next_archive_commits(project: Project) -> None:
    repository(project)
    write_tasks(project, story_json("A", **APPROVED))
    lock = project.root / ".git" / "index.lock"
    lock.touch()
    ran = project.ralph("plan", "archive", check=4)
    assert "git could not commit it" in ran.stderr
    lock.unlink()

    assert "which was not committed yet" in project.ralph("plan", "archive", check=0).stdout

    assert project.git("status", "--porcelain", "ralph", "ralph-archive") == ""
    assert "there is nothing to archive" in project.ralph("plan", "archive", check=2).stderr


@pytest.mark.parametrize("command", ["new", "draft", "check", "status", "run", "archive"])
def test_every_command_of_a_plan_has_examples(project: Project, command: str) -> None:
    said = project.ralph("plan", command, "--help", check=0).stdout
    assert f"Examples:\n    ralph plan {command}" in said
