"""The git effects of enforcing a plan, in repositories as they come."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.adapters.processes.ladder import Ladder
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.plan_repository import LARGEST_READ, GitPlanRepository
from ralph.errors import GitFailed, StoreError

from .plan_project import PlanProject

Result = TypeVar("Result")
ODD = ["a b.txt", "*.txt", "ü\n.txt", "-dash", ":(top)x", "deep/er/[1].py"]


def repository(planned: PlanProject, root: Path | None = None) -> GitPlanRepository:
    runner = PosixProcessRunner(
        run_id="run-of-a-test", base_environment=os.environ, ladder=Ladder(interrupt=0.2, terminate=0.2)
    )
    return GitPlanRepository(root or planned.root, runner, aside=planned.aside)


def wait(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


def put(planned: PlanProject, names: list[str], content: str) -> None:
    for name in names:
        path = planned.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_files_with_odd_names_are_noticed_restored_and_committed(planned: PlanProject) -> None:
    put(planned, [*ODD[:3], "gone"], "old")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    git = repository(planned)
    before = wait(git.state())

    put(planned, ODD, "new")
    (planned.root / "gone").unlink()
    planned.git("add", "-A")
    planned.git("commit", "-qm", "the session")
    put(planned, ["also.txt", ".ralph/x", ".ralph-active"], "uncommitted")
    changed = wait(git.changed_since(before))
    assert set(changed) == {*ODD, "gone", "also.txt"}

    assert wait(git.restore(changed, before)) == ()
    assert wait(git.commit(changed, "put back")) == ""

    assert [(planned.root / name).read_text() for name in ODD[:3]] == ["old"] * 3
    assert (planned.root / "gone").read_text() == "old"
    assert not (planned.root / "deep").exists()
    assert wait(git.changed_since(before)) == ()
    assert planned.log() == ["put back", "the session", "start"]


def test_only_the_named_files_are_committed_even_if_others_are_staged(planned: PlanProject) -> None:
    planned.git("commit", "-q", "--allow-empty", "-m", "start")
    put(planned, ["mine", "staged", "ralph/tasks.json"], "x")
    planned.git("add", "staged")

    assert wait(repository(planned).commit(["ralph/tasks.json", "not there"], "the plan")) == ""

    assert planned.git("show", "--name-only", "--format=").split() == ["ralph/tasks.json"]
    assert planned.status() == "A  staged\n?? mine\n"


def test_before_the_first_commit_and_on_a_detached_head_it_works_too(planned: PlanProject) -> None:
    git = repository(planned)
    before = wait(git.state())
    assert before.commit == ""
    put(planned, ["a"], "1")
    assert wait(git.changed_since(before)) == ("a",)
    assert wait(git.commit(["a"], "first")) == ""
    planned.git("checkout", "-q", "--detach")
    before = wait(git.state())
    put(planned, ["a"], "2")
    assert wait(git.changed_since(before)) == ("a",)
    wait(git.restore(["a"], before))
    assert (planned.root / "a").read_text() == "1"
    assert [path.read_text() for path in (planned.aside / "undone").iterdir()] == ["2"]


def test_a_correction_is_committed_without_an_identity_and_whatever_the_hooks_say(
    planned: PlanProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    planned.git("config", "user.useConfigOnly", "true")
    for name in ("pre-commit", "post-commit", "prepare-commit-msg"):
        hook = planned.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {planned.root / 'hooked'}\nexit 1\n")
        hook.chmod(0o755)
    put(planned, ["a"], "1")

    assert wait(repository(planned).commit(["a"], "corrected")) == ""

    assert planned.git("log", "--format=%an <%ae> %s") == "Ralph Loop <ralph@localhost> corrected\n"
    assert not (planned.root / "hooked").exists()


def test_a_commit_that_cannot_be_made_says_why(planned: PlanProject) -> None:
    put(planned, ["a"], "1")
    (planned.root / ".git" / "index.lock").touch()
    assert "index.lock" in wait(repository(planned).commit(["a"], "x"))


def test_ignored_files_are_neither_changes_nor_committed(planned: PlanProject) -> None:
    put(planned, [".gitignore"], "ralph/\n*.log\n")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    git = repository(planned)
    before = wait(git.state())
    put(planned, ["ralph/tasks.json", "x.log"], "x")
    assert wait(git.changed_since(before)) == ()
    assert wait(git.commit(["ralph/tasks.json"], "x")) == ""
    assert planned.log() == ["start"]


def test_in_a_project_that_is_a_part_of_a_repository_paths_are_the_projects(planned: PlanProject) -> None:
    put(planned, ["outside", "part/inside"], "1")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    git = repository(planned, planned.root / "part")
    before = wait(git.state())
    put(planned, ["outside", "part/inside", "part/new"], "2")
    assert wait(git.changed_since(before)) == ("inside", "new")
    wait(git.restore(["inside", "new"], before))
    assert (planned.root / "part" / "inside").read_text() == "1"
    assert (planned.root / "outside").read_text() == "2"


def test_what_was_uncommitted_before_is_told_and_left(planned: PlanProject) -> None:
    put(planned, ["a"], "1")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    put(planned, ["a", "b"], "mine")
    git = repository(planned)
    before = wait(git.state())
    assert wait(git.changed_since(before)) == ()
    put(planned, ["a"], "theirs")
    assert wait(git.changed_since(before)) == ("a",)
    assert wait(git.restore(["a"], before)) == ("a",)
    assert (planned.root / "a").read_text() == "theirs"
    planned.git("checkout", "-q", "a")
    assert wait(git.changed_since(before)) == ("a",)


@pytest.mark.parametrize("how", ["index", "HEAD", "repository"])
def test_a_git_that_cannot_tell_is_an_error_and_not_a_lack_of_changes(planned: PlanProject, how: str) -> None:
    put(planned, ["code.py"], "1")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    git = repository(planned)
    before = wait(git.state())
    put(planned, ["code.py"], "2")
    if how == "repository":
        shutil.rmtree(planned.root / ".git")
    else:
        (planned.root / ".git" / how).write_text("junk")

    for question in (
        git.changed_since(before),
        git.restore(["code.py"], before),
        git.commit(["code.py"], "x"),
    ):
        with pytest.raises(GitFailed, match="failed in"):
            wait(question)
    with pytest.raises(GitFailed):
        wait(git.state())


@pytest.mark.parametrize("is_known", [True, False])
def test_a_file_of_any_size_is_kept_before_it_is_put_back(planned: PlanProject, is_known: bool) -> None:
    put(planned, ["known"], "1")
    planned.git("add", "-A")
    planned.git("commit", "-qm", "start")
    git = repository(planned)
    before = wait(git.state())
    name, size = "known" if is_known else "film.bin", LARGEST_READ + 1
    with (planned.root / name).open("wb") as file:
        file.truncate(size)

    assert wait(git.restore(wait(git.changed_since(before)), before)) == ()

    assert [kept.stat().st_size for kept in (planned.aside / "undone").iterdir()] == [size]
    assert (planned.root / name).exists() is is_known
    assert (planned.root / "known").read_text() == "1"


def test_a_link_and_a_repository_within_are_kept_too(planned: PlanProject) -> None:
    planned.git("commit", "-q", "--allow-empty", "-m", "start")
    git = repository(planned)
    before = wait(git.state())
    (planned.root / "link").symlink_to("/nowhere")
    planned.git("init", "-q", "within")
    put(planned, ["within/work.py"], "mine")

    assert wait(git.restore(wait(git.changed_since(before)), before)) == ()

    kept = sorted((planned.aside / "undone").iterdir())
    assert [path.name for path in kept] == ["001_link", "001_within"]
    assert str(kept[0].readlink()) == "/nowhere"
    assert (kept[1] / "work.py").read_text() == "mine"
    assert planned.status() == ""


def test_nothing_is_put_back_of_which_no_copy_can_be_kept(planned: PlanProject) -> None:
    planned.git("commit", "-q", "--allow-empty", "-m", "start")
    git = repository(planned)
    before = wait(git.state())
    put(planned, ["mine"], "hours of it")
    planned.aside.write_text("not a folder")

    with pytest.raises(StoreError, match="cannot keep a copy"):
        wait(git.restore(["mine"], before))
    assert (planned.root / "mine").read_text() == "hours of it"
