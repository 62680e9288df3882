"""Links in the working trees of tasks, which agents write and ralph makes, moves and removes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.fast_forward import FastForward
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.tasks.pipeline import Unverified
from ralph.engine.tasks.ports import Worktree
from ralph.errors import GitFailed

from .conftest import git

T = TypeVar("T")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "app").mkdir(parents=True)
    for name in ("file", "app/file", "marker"):
        (folder / name).write_text("secret")
    return folder


@pytest.fixture
def main(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "pkg" / "app").mkdir(parents=True)
    (root / "pkg" / "app" / "code").write_text("one\n")
    (root / ".gitignore").write_text(".ralph/\nignored/\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    (root / ".ralph" / "runs" / "r").mkdir(parents=True)
    return root


def trees_of(main: Path) -> Worktrees:
    own = Git(main, PosixProcessRunner(run_id="t", base_environment=os.environ))
    return Worktrees(own, main / ".ralph", kept=main / ".ralph" / "kept", folder="pkg/app")


def run(what: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(what)


def tree_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("link", ["pkg/app", "pkg"])
def test_no_task_works_where_a_commit_put_a_link_in_place_of_the_project(
    main: Path, outside: Path, link: str
) -> None:
    before = tree_of(outside)
    git(main, "rm", "-rq", link)
    (main / link).parent.mkdir(exist_ok=True)
    (main / link).symlink_to(outside)
    git(main, "add", link)
    git(main, "commit", "-qm", "a link")
    with pytest.raises(GitFailed, match="is a link, and ralph does not follow it"):
        run(trees_of(main).open("T-1", start="main"))
    assert tree_of(outside) == before


def test_nothing_is_merged_that_puts_a_link_in_place_of_the_project(main: Path, outside: Path) -> None:
    trees = trees_of(main)
    tree = run(trees.open("T-1", start="main"))
    git(tree.path, "rm", "-rq", "pkg/app")
    (tree.path / "pkg").mkdir(exist_ok=True)
    (tree.path / "pkg" / "app").symlink_to(outside)
    git(tree.path, "add", "pkg")
    git(tree.path, "commit", "-qm", "a link")
    own = Git(main, PosixProcessRunner(run_id="t", base_environment=os.environ))
    forward = FastForward(own, main / ".ralph")
    merges = Integration(own, trees, forward, target="main", run_folder=main / ".ralph" / "runs" / "r")
    seen: list[Path] = []

    async def verify(place: Path) -> str:
        seen.append(place)
        return ""

    async def merge() -> object:
        try:
            return await merges.merge(tree, git(tree.path, "rev-parse", "HEAD"), message="m", verify=verify)
        except GitFailed as error:
            return Unverified(error.message, "")

    assert isinstance(run(merge()), Unverified)
    assert seen == []
    assert (main / "pkg" / "app" / "code").exists()


def test_a_marker_that_became_a_link_is_neither_read_nor_written(main: Path, outside: Path) -> None:
    trees = trees_of(main)
    tree = run(trees.open("T-1", start="main"))
    marker = tree.path / ".git"
    own = marker.read_text()
    (outside / "marker").write_text(own.replace(str(main), "/elsewhere"))
    written = (outside / "marker").read_text()
    marker.unlink()
    marker.symlink_to(outside / "marker")
    run(trees.open("T-1", start="main"))
    assert (outside / "marker").read_text() == written
    assert not (tree.path / ".git").is_symlink()


def _swap_ignored(tree: Worktree, outside: Path) -> None:
    (tree.path / "ignored").symlink_to(outside)


def _link_in_ignored(tree: Worktree, outside: Path) -> None:
    (tree.path / "ignored").mkdir()
    (tree.path / "ignored" / "deep").symlink_to(outside)
    (tree.path / "ignored" / "kept").write_text("kept")


def _close_folder(tree: Worktree, outside: Path) -> None:
    (tree.path / "ignored" / "closed").mkdir(parents=True)
    (tree.path / "ignored" / "closed" / "link").symlink_to(outside)
    (tree.path / "ignored" / "closed").chmod(0o500)


@pytest.mark.parametrize("attack", [_swap_ignored, _link_in_ignored, _close_folder])
def test_removing_a_worktree_keeps_and_removes_nothing_outside(
    main: Path, outside: Path, attack: Any
) -> None:
    before, trees = tree_of(outside), trees_of(main)
    tree = run(trees.open("T-1", start="main"))
    attack(tree, outside)
    removal = run(trees.close(tree, merged_into="main"))
    assert removal.is_removed or removal.why
    assert tree_of(outside) == before
    kept = main / ".ralph" / "kept"
    assert not [path for path in kept.rglob("*") if path.name in ("file", "marker")]
    run(trees.discard("T-1"))
    assert tree_of(outside) == before
    assert not tree.path.exists()


def test_a_tree_that_git_cannot_read_is_kept_and_told(main: Path) -> None:
    """Its work is merged by then: that must not end as a failure of the task."""
    trees = trees_of(main)
    tree = run(trees.open("T-1", start="main"))
    (tree.path / git(tree.path, "rev-parse", "--git-path", "index")).write_bytes(b"no index")

    removal = run(trees.close(tree, merged_into="main"))

    assert not removal.is_removed
    assert "index" in removal.why
