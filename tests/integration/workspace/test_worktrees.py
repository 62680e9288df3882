"""Worktrees and merging, with real git."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.fast_forward import FastForward
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.nested_repositories import new_repositories, unsaved_repositories
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.tasks.pipeline import Conflict, Merged, MergeResult, NotMerged, Unverified
from ralph.engine.tasks.ports import Removal, Worktree
from ralph.errors import GitFailed

T = TypeVar("T")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


@pytest.fixture
def main(tmp_path: Path) -> Path:
    root = tmp_path / "a project"  # with a space in its name
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "t")
    git(root, "config", "user.email", "t@example.invalid")
    write(root, a_txt="one\n")
    (root / ".gitignore").write_text(".ralph/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


class Place:
    """The main checkout, its worktrees and its integration, driven one call at a time."""

    def __init__(self, main: Path) -> None:
        self.main = main
        self.git = Git(main, PosixProcessRunner(run_id="t", base_environment=os.environ))
        self.kept = main / ".ralph" / "kept"
        self.run_folder = main / ".ralph" / "runs" / "r"
        self.run_folder.mkdir(parents=True, exist_ok=True)
        self.trees = Worktrees(self.git, main / ".ralph", kept=self.kept, now=lambda: 7.0)
        self.forward = FastForward(self.git, main / ".ralph")
        self.integration = Integration(
            self.git, self.trees, self.forward, target="main", run_folder=self.run_folder
        )

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(what)

    def open(self, name: str = "T-1") -> Worktree:
        return self.run(self.trees.open(name, start="main"))

    def commit(self, tree: Worktree, **files: str) -> None:
        write(tree.path, **files)
        assert self.run(self.git.at(tree.path).commit_all("work"))

    def close(self, tree: Worktree) -> Removal:
        return self.run(self.trees.close(tree, merged_into="main"))

    def merge(self, tree: Worktree, wrong: str = "", *, commit: str = "") -> MergeResult:
        async def verify(path: Path) -> str:
            assert (path / "a.txt").exists()
            (path / "left by the verification").touch()
            return wrong

        commit = commit or git(self.main, "rev-parse", tree.branch)
        return self.run(self.integration.merge(tree, commit, message="Merge T-1", verify=verify))


@pytest.fixture
def place(main: Path) -> Place:
    return Place(main)


def test_a_task_gets_a_branch_and_a_tree_of_its_own(place: Place) -> None:
    tree = place.open()
    assert git(tree.path, "branch", "--show-current") == "ralph/T-1"
    assert tree.base == git(place.main, "rev-parse", "main")
    write(tree.path, b_txt="new")
    assert git(place.main, "status", "--porcelain") == ""


def test_a_tree_that_is_there_already_is_gone_on_with(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="half")
    write(tree.path, c_txt="not committed")
    write(place.main, d_txt="meanwhile")
    git(place.main, "add", "-A")
    git(place.main, "commit", "-qm", "meanwhile")
    again = place.open()
    assert again == tree
    assert (again.path / "c.txt").read_text() == "not committed"


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_the_tree_of_a_project_that_was_moved_or_copied_is_that_of_its_own_repository(
    place: Place, how: str
) -> None:
    tree = place.open()
    place.commit(tree, b_txt="half")
    write(tree.path, c_txt="not committed")
    before = git(place.main, "rev-parse", "ralph/T-1")
    there = place.main.with_name("elsewhere")
    if how == "moved":
        place.main.rename(there)
    else:
        shutil.copytree(place.main, there, symlinks=True)
    elsewhere = Place(there)
    again = elsewhere.open()
    assert (again.path / "c.txt").read_text() == "not committed"
    elsewhere.commit(again, d_txt="more")
    assert git(there, "rev-parse", "ralph/T-1~1") == before
    if how == "copied":
        assert git(place.main, "rev-parse", "ralph/T-1") == before, "the original is left alone"


@pytest.mark.parametrize("marker", [b"gitdir: round/T-1\n", b"gitdir: a\0b\n", b"gitdir: ..\n", b"\xff", b""])
def test_whatever_an_agent_writes_in_place_of_the_marker_its_commits_are_there(
    place: Place, marker: bytes
) -> None:
    tree = place.open()
    place.commit(tree, b_txt="half")
    (tree.path / "round").symlink_to("round")
    (tree.path / ".git").write_bytes(marker)
    assert (place.open().path / "b.txt").read_text() == "half"


def test_a_tree_whose_folder_was_removed_comes_back_with_its_commits(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="half")
    subprocess.run(["rm", "-rf", str(tree.path)], check=True)
    assert (place.open().path / "b.txt").read_text() == "half"


def test_what_stands_in_the_way_is_kept(place: Place) -> None:
    path = place.trees.place("T-1")
    path.mkdir(parents=True)
    write(path, a_txt="somebody's")
    tree = place.open()
    assert (tree.path / "a.txt").read_text() == "one\n"
    assert (path.with_name("T-1.left-7") / "a.txt").read_text() == "somebody's"


def test_without_a_commit_there_is_nothing_to_branch_from(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    with pytest.raises(GitFailed) as raised:
        Place(tmp_path).open()
    assert "make a first commit" in raised.value.hint


def test_accepted_work_is_merged_and_the_tree_is_removed(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    accepted = git(tree.path, "rev-parse", "HEAD")
    result = place.merge(tree)
    assert isinstance(result, Merged)
    assert git(place.main, "rev-parse", "HEAD") == result.commit
    assert (place.main / "b.txt").read_text() == "new"
    assert git(place.main, "log", "-1", "--format=%s") == "Merge T-1"
    assert git(place.main, "status", "--porcelain") == ""
    assert place.close(tree).is_removed
    assert not tree.path.exists()
    assert git(place.main, "branch", "--list", "ralph/*") == ""
    assert place.merge(tree, commit=accepted) == result


def test_whatever_is_not_as_it_was_accepted_is_found(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    accepted = git(tree.path, "rev-parse", "HEAD")

    def late() -> list[str] | None:
        found = place.run(place.integration.changed_since(tree, accepted))
        return None if found is None else list(found)

    git(tree.path, "commit", "--quiet", "--allow-empty", "-m", "nothing new")
    (tree.path / ".ralph").mkdir()
    (tree.path / ".ralph" / "note").touch()
    assert late() == []
    write(tree.path, b_txt="other", c_txt="untracked")
    place.commit(tree, d_txt="committed")
    (tree.path / "a.txt").unlink()
    write(tree.path, e_txt="untracked")
    assert late() == ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]
    assert place.run(place.integration.changed_since(tree, "0" * 40)) is None


def test_merging_twice_is_harmless(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    first = place.merge(tree)
    assert place.merge(tree) == first


def test_what_somebody_else_merged_is_verified_too(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="work\n")
    git(place.main, "merge", "-q", "--ff-only", tree.branch)

    assert place.merge(tree, wrong="it does not hold") == Unverified(
        "it does not hold", git(place.main, "rev-parse", "main")
    )
    assert isinstance(place.merge(tree), Merged)


def test_a_conflict_leaves_everything_as_it_was(place: Place) -> None:
    tree = place.open()
    place.commit(tree, a_txt="theirs\n")
    write(place.main, a_txt="ours\n")
    git(place.main, "commit", "-qam", "ours")
    tip = git(place.main, "rev-parse", "main")
    assert place.merge(tree) == Conflict(("a.txt",), tip)
    assert git(place.main, "rev-parse", "main") == tip
    assert (tree.path / "a.txt").read_text() == "theirs\n"


def test_work_that_no_longer_holds_when_merged_is_not_taken(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    tip = git(place.main, "rev-parse", "main")
    assert place.merge(tree, wrong="2 tests fail") == Unverified("2 tests fail", tip)
    assert git(place.main, "rev-parse", "main") == tip


def test_a_dirty_tree_of_the_users_is_never_overwritten(place: Place) -> None:
    tree = place.open()
    place.commit(tree, a_txt="theirs\n")
    write(place.main, a_txt="being edited\n")
    result = place.merge(tree)
    assert isinstance(result, NotMerged)
    assert "your working tree is in the way" in result.reason
    assert (place.main / "a.txt").read_text() == "being edited\n"


def test_a_dirty_file_that_the_work_does_not_touch_is_in_nobodys_way(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    write(place.main, a_txt="being edited\n")
    assert isinstance(place.merge(tree), Merged)
    assert (place.main / "a.txt").read_text() == "being edited\n"


def test_a_target_that_is_not_checked_out_is_moved_all_the_same(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    git(place.main, "checkout", "-q", "-b", "elsewhere")
    result = place.merge(tree)
    assert isinstance(result, Merged)
    assert git(place.main, "rev-parse", "main") == result.commit
    assert not (place.main / "b.txt").exists()


def test_a_target_that_is_checked_out_elsewhere_is_not_moved_under_it(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="work\n")
    before = git(place.main, "rev-parse", "main")
    git(place.main, "checkout", "-q", "-b", "other")
    git(place.main, "worktree", "add", "-q", str(place.main.parent / "elsewhere"), "main")

    taken = place.merge(tree)

    assert isinstance(taken, NotMerged)
    assert "elsewhere" in taken.reason
    assert git(place.main, "rev-parse", "main") == before


def test_a_tree_whose_head_is_not_merged_is_not_removed(place: Place) -> None:
    tree = place.open()
    git(tree.path, "checkout", "-q", "--detach")
    place.commit(tree, b_txt="work\n")

    assert not place.close(tree).is_removed
    assert (tree.path / "b.txt").exists()


def test_a_folder_without_git_does_not_find_the_users_above_it(place: Place) -> None:
    tree = place.open()
    (tree.path / ".git").unlink()

    with pytest.raises(GitFailed, match="not a git repository"):
        place.run(place.git.at(tree.path).branch())
    assert place.run(place.git.branch()) == "main"


def test_a_tree_with_work_that_is_not_merged_is_not_removed(place: Place) -> None:
    tree = place.open()
    place.commit(tree, b_txt="new")
    assert not place.close(tree).is_removed
    place.merge(tree)
    write(tree.path, c_txt="more")
    assert not place.close(tree).is_removed
    assert (tree.path / "c.txt").exists()


def test_hooks_of_the_repository_are_not_run(place: Place) -> None:
    for hook in ("pre-commit", "post-commit", "post-merge", "post-checkout", "commit-msg"):
        file = place.main / ".git" / "hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch '{place.main}/ran-{hook}'\nexit 1\n")
        file.chmod(0o755)
    tree = place.open()
    place.commit(tree, b_txt="new")
    assert isinstance(place.merge(tree), Merged)
    assert list(place.main.glob("ran-*")) == []


def test_changed_files_are_named_whatever_they_are_called(place: Place) -> None:
    names = {"ümlaut.txt", "two words", "new\nline", "-dash"}
    for name in names:
        (place.main / name).touch()
    git(place.main, "mv", "a.txt", "renamed.txt")
    (place.main / ".ralph" / "own").touch()
    assert set(place.run(place.git.changed())) == {*names, "renamed.txt"}


def test_settings_that_a_task_staged_do_not_reach_the_users_checkout(place: Place) -> None:
    (place.main / ".ralph").mkdir(exist_ok=True)
    (place.main / ".ralph" / "settings.json").write_text("{}")
    git(place.main, "add", "-f", ".ralph/settings.json")
    git(place.main, "commit", "-qm", "settings")
    tree = place.open()
    write(tree.path, b_txt="new")
    (tree.path / ".ralph").mkdir(exist_ok=True)
    (tree.path / ".ralph" / "settings.json").write_text('{"guardrails": [{"command": "evil"}]}')
    git(tree.path, "add", "-f", "-A")
    git(tree.path, "commit", "-qm", "work")
    result = place.merge(tree)
    assert isinstance(result, Unverified)
    assert ".ralph/settings.json" in result.reason
    assert (place.main / ".ralph" / "settings.json").read_text() == "{}"


def test_many_worktrees_are_made_and_removed_at_once(place: Place) -> None:
    """By several that share nothing but the repository, as two `ralph work` in two worktrees of it do."""
    others = [Place(place.main) for _ in range(3)]

    async def make(one: Place, number: int) -> None:
        for each in range(4):
            tree = await one.trees.open(f"T-{number}-{each}", start="main")
            assert (await one.trees.close(tree, merged_into="main")).is_removed

    async def run() -> None:
        await asyncio.gather(*(make(one, number) for number, one in enumerate(others)))

    place.run(run())
    assert git(place.main, "worktree", "list").count("\n") == 0
    assert git(place.main, "branch", "--list", "ralph/*") == ""


def test_a_worktree_of_the_users_on_a_disk_that_is_away_is_not_forgotten(place: Place) -> None:
    away = place.main.parent / "away"
    git(place.main, "worktree", "add", "-q", str(away))
    away.rename(place.main.parent / "unmounted")
    tree = place.open()
    place.commit(tree, b_txt="new")
    assert isinstance(place.merge(tree), Merged)
    assert place.close(tree).is_removed
    (place.main.parent / "unmounted").rename(away)
    assert git(away, "status", "--porcelain") == ""


def test_the_tree_of_a_merge_is_of_this_run_and_goes_with_it(place: Place) -> None:
    other = Integration(
        place.git, place.trees, place.forward, target="main", run_folder=place.run_folder.with_name("other")
    )
    place.run_folder.with_name("other").mkdir()
    tree = place.open()
    place.commit(tree, b_txt="new")
    place.merge(tree)
    place.run(other.prepare())  # of a run beside it
    assert place.trees.place("_integration-r").is_dir()
    place.run(place.integration.finish())
    assert not place.trees.place("_integration-r").exists()
    assert git(place.main, "worktree", "list").count("\n") == 1


def test_the_tree_of_a_killed_merge_is_removed_by_the_next_run(place: Place) -> None:
    git(place.main, "worktree", "add", "-q", "--detach", str(place.trees.place("_integration-killed")))
    (place.trees.place(".removed-T-9") / "read only").mkdir(parents=True)
    (place.trees.place(".removed-T-9") / "read only" / "file").touch()
    (place.trees.place(".removed-T-9") / "read only").chmod(0o500)
    place.run(place.integration.prepare())
    assert list((place.main / ".ralph" / "worktrees").iterdir()) == []
    assert git(place.main, "worktree", "list").count("\n") == 0


def test_a_submodule_that_came_from_elsewhere_is_no_repository_of_the_works_own(
    place: Place, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    git(library, "config", "user.name", "t")
    git(library, "config", "user.email", "t@example.invalid")
    write(library, l_txt="1\n")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "library")
    tree = place.open()
    own = place.git.at(tree.path)
    git(tree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    assert place.run(new_repositories(own, tree.base)) == ()
    git(tree.path / "lib", "config", "user.name", "t")
    git(tree.path / "lib", "config", "user.email", "t@example.invalid")
    git(tree.path / "lib", "commit", "-q", "--allow-empty", "-m", "nowhere else")
    assert place.run(new_repositories(own, tree.base)) == ("lib",)
    assert place.run(unsaved_repositories(own)) == ("lib",)
