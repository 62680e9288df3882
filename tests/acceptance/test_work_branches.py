"""What agents do to their branch, their worktree and the user's: nothing unverified is merged, nothing is lost."""

from __future__ import annotations

import pytest

from .conftest import Project
from .task_project import TaskProject

COMMIT = "echo x > f.txt; git add f.txt; git commit -qm x"


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    return TaskProject(project)


@pytest.mark.parametrize("leave", ["git checkout -q -b feature", "git checkout -q --detach"])
def test_work_that_left_its_branch_is_merged_all_the_same(tasks: TaskProject, leave: str) -> None:
    tasks.role("coder", f"{leave}; {COMMIT}; echo y > uncommitted.txt")
    tasks.verified("test -f f.txt")

    tasks.work(check=0)

    assert {"f.txt", "uncommitted.txt"} <= tasks.files()


def test_work_on_a_branch_without_the_tasks_own_commits_goes_back_to_the_coder(tasks: TaskProject) -> None:
    tasks.role(
        "coder",
        f"""if [ "$number" = 1 ]; then echo 1 > first.txt; git add first.txt; git commit -qm first
        git checkout -q -b other HEAD~1; {COMMIT}; else git merge -q --no-edit ralph/T-1; fi""",
    )
    tasks.verified("test -f f.txt")

    tasks.work(check=0)

    assert "has left its branch ralph/T-1" in tasks.prompt("coder", 2)
    assert {"f.txt", "first.txt"} <= tasks.files()


def test_a_worktree_that_lost_its_git_fails_its_task_and_does_not_reach_the_users(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 2}})
    tasks.role("coder", "echo x > f.txt; rm -f .git; git add -A; git commit -qm mine; git checkout -q -b own")
    tasks.verified("test -f f.txt")
    tasks.write("mine.txt", "mine\n")
    tasks.git("add", "mine.txt")
    before = tasks.git("rev-parse", "HEAD")

    tasks.work(check=1)

    assert tasks.git("symbolic-ref", "--short", "HEAD") == "main"
    assert tasks.git("rev-parse", "HEAD") == before
    assert tasks.git("diff", "--cached", "--name-only") == "mine.txt"
    failed = tasks.shown()
    assert failed["status"] == "failed"
    assert "its .git is gone" in failed["reason"]
    assert failed["iteration"] == 1  # another session could not repair it
    tasks.role("coder", "echo x > f.txt")
    tasks.project.ralph("task", "retry", "T-1", check=0)
    tasks.work(check=0)
    assert "f.txt" in tasks.files()


def test_the_lock_of_a_git_that_was_killed_is_no_obstacle(tasks: TaskProject) -> None:
    tasks.role("coder", 'echo x > f.txt; touch "$(git rev-parse --git-dir)/index.lock"')
    tasks.verified("test -f f.txt")

    tasks.work(check=0)

    assert "f.txt" in tasks.files()


@pytest.mark.parametrize("resolve", ["", "git add -A; git commit -qm 'resolved, honestly'"])
def test_a_conflict_that_was_not_resolved_is_not_merged(tasks: TaskProject, resolve: str) -> None:
    tasks.write("s.txt", "0\n")
    tasks.commit("s")
    tasks.role(
        "coder",
        f"""case "$RALPH_TASK_ID $number" in
        "A 1") echo A > s.txt;;
        "B 1") while [ ! -e "$here/merged" ]; do sleep 0.05; done; echo B > s.txt;;
        "B 2") {resolve or ":"};;
        *) git checkout -q --theirs s.txt 2>/dev/null; echo both > s.txt; git add -A; git commit -qm both;;
        esac""",
    )
    tasks.settings(
        maxParallel=2,
        others={
            "guardrails": [
                {"command": f"case $PWD in *_integration*) touch '{tasks.programs}/merged';; esac"}
            ]
        },
    )
    tasks.tasks(
        *({"id": name, "completion": {"coder": {"verification_method": "string_match"}}} for name in "AB")
    )

    tasks.work(check=0)

    assert "conflict in s.txt is not resolved" in tasks.prompt("coder", 3, "B")
    assert tasks.git("show", "main:s.txt") == "both"


def test_work_that_an_agent_merged_by_itself_is_told(tasks: TaskProject) -> None:
    tasks.settings(roles={"coder": {"maxIterations": 1}})
    tasks.role("coder", f"{COMMIT}; git -C '{tasks.root}' merge -q ralph/T-1")
    tasks.verified("false")

    told = tasks.work(check=1)

    assert "T-1: commits that were not accepted are in main, and ralph did not merge them" in told
