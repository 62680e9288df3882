"""What is merged is exactly what was accepted, whoever writes to the worktree afterwards."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing

import pytest

from .conftest import Project
from .task_project import TaskProject


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    made = TaskProject(project)
    made.settings(stages=["coder", "reviewer"])
    return made


def accepted(tasks: TaskProject) -> None:
    """T-1 is accepted, but a file of the user's is in the way of its merge."""
    tasks.verified("test -f T-1.txt")
    tasks.write("T-1.txt", "the user's\n")
    tasks.work(check=5)
    assert tasks.shown()["status"] == "accepted"
    (tasks.root / "T-1.txt").unlink()


def test_what_was_written_after_the_acceptance_goes_back_to_be_judged(tasks: TaskProject) -> None:
    accepted(tasks)
    tree = tasks.worktree()
    (tree / "committed.txt").write_text("late\n")
    for arguments in (["add", "committed.txt"], ["commit", "-qm", "late"]):
        subprocess.run(["git", *arguments], cwd=tree, env=tasks.project.env(), check=True, timeout=60)
    (tree / "left.txt").write_text("late\n")
    tasks.role("coder", "git rm -q committed.txt")

    tasks.work(check=0)

    assert "committed.txt, left.txt changed after the work was accepted" in tasks.prompt("coder", 2)
    assert tasks.launches() == ["T-1 coder", "T-1 reviewer"] * 2
    assert tasks.shown()["rejections"] == 1
    assert tasks.files() == {"start.txt", "T-1.txt", "left.txt"}, "what both roles have accepted now"


def test_what_is_written_while_it_is_merged_is_kept_but_not_merged(tasks: TaskProject) -> None:
    late = f"cd '{tasks.worktree()}' && echo late > late.txt && git add late.txt && git commit -qm late"
    tasks.verified(f"case $PWD in *_integration*) ({late}) ;; esac; test -f T-1.txt")

    said = tasks.work(check=0)

    assert tasks.files() == {"start.txt", "T-1.txt"}
    assert (tasks.worktree() / "late.txt").exists()
    assert "is kept: ralph/T-1 is not in main" in said


def test_work_that_an_older_version_accepted_is_judged_once_more(tasks: TaskProject) -> None:
    accepted(tasks)
    with closing(sqlite3.connect(tasks.root / ".ralph" / "ralph.db")) as database, database:
        database.execute("UPDATE tasks SET progress = json_remove(progress, '$.accepted_commit')")

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder", "T-1 reviewer", "T-1 reviewer"]
    assert tasks.shown()["rejections"] == 0
    assert "T-1.txt" in tasks.files()


def test_a_commit_that_is_not_what_was_judged_is_denied(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 2}})
    tasks.verified("grep -q start start.txt")
    # What is checked out looks harmless, and git is told not to look.
    hide = "echo evil > start.txt; git commit -qam x; git update-index --skip-worktree start.txt; echo start > start.txt"
    tasks.role("coder", f'touch made.txt; [ "$number" = 2 ] || {{ {hide}; }}')

    said = tasks.work(check=1)

    assert "the commit is not what was judged: start.txt" in tasks.prompt("coder", 2)
    assert "failing: commit" in said
    assert tasks.git("show", "main:start.txt") == "start"


def test_what_filters_of_the_user_make_of_files_is_no_lie(tasks: TaskProject) -> None:
    tasks.git("config", "filter.shift.clean", "tr a-z b-za")
    tasks.git("config", "filter.shift.smudge", "tr b-za a-z")
    tasks.write(".gitattributes", "*.enc filter=shift\n*.bat text eol=crlf\n")
    tasks.write("secret.enc", "hello\n")
    tasks.write("run.bat", "echo\r\n")
    tasks.commit("files that are not committed as they are")
    tasks.settings()
    tasks.verified("grep -q hello secret.enc && grep -q more run.bat")
    tasks.role("coder", "printf 'more\\r\\n' >> run.bat; printf 'new\\r\\n' > new.bat")

    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder"]
    assert tasks.git("show", "main:secret.enc") == "ifmmp"
    assert tasks.git("show", "main:run.bat") == "echo\nmore"
