"""An agent nests folders deeper than Python's stack, and than the longest path: nothing of ralph's ends because of that."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters import trees
from ralph.adapters.workspace.ignored_files import list_manifest

from .test_links_in_worktrees import main, run, trees_of

__all__ = ["main"]  # a fixture
LEVELS, NAME = 1_200, "d" * 20


def nest(folder: Path) -> None:
    """With a file at the end."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(LEVELS):
            os.mkdir(NAME, dir_fd=here)
            here, above = os.open(NAME, os.O_RDONLY, dir_fd=here), here
            os.close(above)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    finally:
        os.close(here)


def levels_of(folder: Path) -> int:
    """Of the one nest below it, down to its file."""
    found, here = 0, os.open(folder, os.O_RDONLY)
    try:
        while (names := os.listdir(here)) != ["file"]:  # noqa: PTH208 - of a descriptor
            here, above = os.open(names[0], os.O_RDONLY, dir_fd=here), here
            os.close(above)
            found += 1
    finally:
        os.close(here)
    return found


def test_a_worktree_with_a_deep_nest_that_git_ignores_is_removed_and_the_nest_is_kept(main: Path) -> None:
    worktrees = trees_of(main)
    tree = run(worktrees.open("T-1", start="main"))
    nest(tree.path / "ignored")
    removal = run(worktrees.close(tree, merged_into="main"))
    assert removal.is_removed, removal.why
    assert not tree.path.exists()
    kept = main / ".ralph" / "kept"
    try:
        assert levels_of(kept) >= LEVELS
    finally:
        trees.remove_tree(kept, main)
    assert not kept.exists()


def test_ignored_files_are_listed_as_far_as_a_path_can_be(tmp_path: Path) -> None:
    (tmp_path / "near").write_text("text")
    nest(tmp_path / "ignored")
    try:
        assert set(list_manifest(tmp_path, ["near", "ignored/"])) == {"near"}
    finally:
        trees.remove_tree(tmp_path / "ignored", tmp_path)
