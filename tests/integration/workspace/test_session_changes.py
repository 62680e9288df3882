"""Which files a session has changed, and whether one of them is as it was before."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.session_changes import ABSENT
from ralph.adapters.workspace.snapshot import GitWorkspace
from ralph.domain.loop.session_change import MOST_NAMED, ChangedFile, SessionChange

COMMIT = "git add -A && git commit -qm more"


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.sh(
            "git init -q -b main && mkdir sub && echo 1 | tee a b sub/c && git add -A && git commit -qm one"
        )
        runner = PosixProcessRunner(run_id="", base_environment=os.environ)
        self.workspace = GitWorkspace(root, runner, top=root)
        asyncio.run(self.workspace.snapshot())

    def sh(self, script: str) -> str:
        return subprocess.run(
            ["sh", "-ec", script], cwd=self.root, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    def after(self, script: str) -> SessionChange:
        self.sh(script)
        change = asyncio.run(self.workspace.snapshot()).change
        assert change is not None
        return change

    def paths_after(self, script: str) -> list[str]:
        change = self.after(script)
        assert change.files == len(change.named)
        return [file.path for file in change.named]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        ("true", []),
        ("echo 1 > a", []),
        ("echo 2 > a", ["a"]),
        ("rm a", ["a"]),
        ("echo 2 > new", ["new"]),
        ("echo 2 > sub/c; echo 2 > b", ["b", "sub/c"]),
        (f"echo 2 > a; {COMMIT}", ["a"]),
        (f"echo 2 > a; {COMMIT}; echo 3 > b", ["a", "b"]),
        ("git mv a d", ["a", "d"]),
        ("mkdir __pycache__; echo x > __pycache__/a.pyc", []),
        ("git commit -q --allow-empty -m nothing", []),
        ("git checkout -q -b other", []),
    ],
)
def test_what_was_changed(tree: Tree, script: str, paths: list[str]) -> None:
    assert tree.paths_after(script) == paths


@pytest.mark.parametrize(
    "then",
    [COMMIT, "git add -A", "git add -N new", "git stash -qu; git stash pop -q", "touch a new"],
)
def test_what_an_earlier_session_did_is_not_the_doing_of_the_next(tree: Tree, then: str) -> None:
    assert tree.paths_after("echo 2 > a; echo 2 > new; rm b") == ["a", "b", "new"]
    assert tree.paths_after(then) == []


def test_an_edit_and_the_commit_of_another_are_told_apart(tree: Tree) -> None:
    assert tree.paths_after("echo 2 > a") == ["a"]
    assert tree.paths_after(f"{COMMIT}; echo 2 > b") == ["b"]
    assert tree.paths_after("git commit -qam b; echo 3 > a; git commit -qam a") == ["a"]


@pytest.mark.parametrize(
    "back",
    ["echo 1 > a", "git checkout -q a", f"echo 1 > a; {COMMIT} --allow-empty"],
)
@pytest.mark.parametrize("between", ["true", COMMIT])
def test_a_file_that_is_put_back_has_the_content_that_it_had(tree: Tree, between: str, back: str) -> None:
    (first,) = tree.after(f"echo 2 > a; {between}").named
    if between == COMMIT and "checkout" in back:
        back = "git checkout -q HEAD~1 -- a"
    (second,) = tree.after(back).named
    assert first.before
    assert second.after == first.before != first.after


def test_what_is_not_there_has_a_content_of_its_own(tree: Tree) -> None:
    (made,) = tree.after("echo 2 > new").named
    (gone,) = tree.after("rm new").named
    assert (made.before, gone.after) == (ABSENT, ABSENT)
    (removed,) = tree.after("rm a").named
    (again,) = tree.after("echo 1 > a").named
    assert (removed.after, again.after) == (ABSENT, removed.before)


def test_many_files_are_counted_and_the_first_are_named(tree: Tree) -> None:
    change = tree.after("for n in $(seq 100 130); do echo x > f$n; done")
    assert (change.files, len(change.named)) == (31, MOST_NAMED)


def test_a_look_back_at_what_git_has_forgotten_says_nothing(tree: Tree) -> None:
    """As after a rewritten and pruned history."""
    tree.sh(COMMIT + " --allow-empty")
    asyncio.run(tree.workspace.snapshot())
    tree.sh(
        "git reset -q --hard HEAD~1 && git reflog expire --expire=all --all && git gc -q --prune=now"
        " && echo 2 > a && git commit -qam two"
    )
    assert asyncio.run(tree.workspace.snapshot()).change is None


def test_the_first_look_knows_of_no_change(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=60)
    workspace = GitWorkspace(
        tmp_path, PosixProcessRunner(run_id="", base_environment=os.environ), top=tmp_path
    )
    assert asyncio.run(workspace.snapshot()).change is None
    (tmp_path / "a").write_text("x\n")
    (file,) = (asyncio.run(workspace.snapshot()).change or SessionChange()).named
    assert file == ChangedFile("a", ABSENT, "587be6b4c3f9")
