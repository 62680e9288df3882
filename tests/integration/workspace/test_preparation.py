"""Setting up a worktree, with real git and no ralph around it: what links and hostile names cannot do."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters import trees
from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.preparation import Preparation
from ralph.adapters.workspace.worktree_includes import WorktreeIncludes, agreed_includes, include_demands
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.domain.proof.required_command import CommandVerdict
from ralph.engine.tasks.ports import Worktree
from ralph.errors import SetupFailed


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


@pytest.fixture
def main(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    (root / "pack").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "t")
    git(root, "config", "user.email", "t@example.invalid")
    (root / ".gitignore").write_text(".ralph/\nnode_modules\n*.env\n")
    (root / "package.json").write_text("{}")
    (root / "pack" / "a.txt").write_text("a\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


Setup = Callable[[Path], object]


def prepare(main: Path, setup: Setup = lambda _: None, *, share: tuple[str, ...] = ()) -> Worktree:
    """Open the worktree of a task and set it up by ``setup``. Raises SetupFailed."""

    async def run(_command: str, place: Path, _name: str) -> CommandVerdict:
        setup(place)
        return CommandVerdict(passed=True)

    async def work() -> Worktree:
        tool = Git(main, PosixProcessRunner(run_id="t", base_environment=os.environ))
        worktrees = Worktrees(tool, main / ".ralph", kept=main / ".ralph" / "kept")
        preparation = Preparation(
            git=tool.at(main),
            worktrees=worktrees,
            marks=worktrees.marks,
            includes=WorktreeIncludes(tool.at(main), agreed_includes(include_demands(main)), worktrees.marks),
            share=share,
            setup=("setup",),
            run=run,
            warn=lambda _: None,
            is_cut=lambda: False,
            control="_integration-t-base",
            hint="",
        )
        worktree = await worktrees.open("T-1", start="main")
        await preparation.prepare(worktree)
        return worktree

    return bounded(work())


def bounded(work: Coroutine[Any, Any, Worktree]) -> Worktree:
    return asyncio.run(asyncio.wait_for(work, 60))


def test_a_shared_folder_that_is_a_link_is_not_followed(main: Path, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (main / "node_modules").symlink_to(tmp_path / "secrets")
    with pytest.raises(SetupFailed, match="node_modules is a link, and ralph does not follow it"):
        prepare(main, share=("node_modules",))


def test_links_inside_a_shared_folder_stay_links(main: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (main / "node_modules").mkdir()
    (main / "node_modules" / "out").symlink_to(tmp_path / "secret")
    tree = prepare(main, share=("node_modules",)).path
    assert (tree / "node_modules" / "out").readlink() == tmp_path / "secret"


def test_files_below_a_link_are_not_included(main: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.env").write_text("secret")
    (main / "linked").symlink_to(tmp_path / "outside")
    (main / "a.env").write_text("a")
    (main / "deep").mkdir()
    (main / "deep" / "c.env").write_text("c")
    (main / ".worktreeinclude").write_text("*.env\n!deep/*.env\nlinked/\n../*\n")
    tree = prepare(main).path
    assert [path.name for path in tree.rglob("*.env")] == ["a.env"]


def test_what_setup_does_to_the_work_is_undone(main: Path, tmp_path: Path) -> None:
    """Also where it puts a link in the place of a folder, through which nothing is written or removed."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a.txt").write_text("the user's own\n")

    def spoil(place: Path) -> None:
        (place / "package.json").unlink()
        (place / "pack" / "a.txt").unlink()
        (place / "pack").rmdir()
        (place / "pack").symlink_to(tmp_path / "home")

    tree = prepare(main, spoil).path

    assert git(tree, "status", "--porcelain") == ""
    assert (tree / "pack" / "a.txt").read_text() == "a\n"
    assert (tmp_path / "home" / "a.txt").read_text() == "the user's own\n"


def test_what_a_killed_setup_leaves_is_not_work(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while it removes what git does not ignore."""

    def killed(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(trees, "remove_tree", killed)
        with pytest.raises(asyncio.CancelledError):
            prepare(main, lambda place: (place / "left.txt").write_text("left"))
    with pytest.raises(SetupFailed, match=r"it leaves left\.txt, which git does not ignore"):
        prepare(main)
    tree = prepare(main).path
    assert not (tree / "left.txt").exists()
    assert git(tree, "status", "--porcelain") == ""


def test_work_that_git_cannot_add_is_never_taken_for_the_setups(main: Path) -> None:
    """A repository without a commit, such as tests make, keeps git from adding anything."""
    tree = prepare(main).path
    (tree / "package.json").write_text('{"more": 1}')
    (tree / "pack" / "a.txt").write_text("work\n")
    (tree / "new.txt").write_text("work\n")
    git(tree, "init", "-q", "nested")
    (tree / "nested" / "b.txt").write_text("work\n")

    prepare(main)

    works = ("pack/a.txt", "new.txt", "nested/b.txt")
    assert [(tree / name).read_text() for name in works if (tree / name).exists()] == ["work\n"] * 3


@pytest.mark.parametrize(
    ("content", "asked"), [("# none\n\n", []), (".env\n# x\n*.key\n", [[".env", "*.key"]])]
)
def test_a_list_of_ignored_files_needs_trust(tmp_path: Path, content: str, asked: list[list[str]]) -> None:
    (tmp_path / ".worktreeinclude").write_text(content)
    assert [demand.value for demand in include_demands(tmp_path)] == asked


def test_what_the_user_was_shown_of_the_list_is_obeyed_and_no_more(tmp_path: Path) -> None:
    """Git would take the one for a file whose name begins with a blank; and who can write the file may do so at any time."""
    (tmp_path / ".worktreeinclude").write_bytes(b"\xef\xbb\xbf# x\n #a\n.env \r\n  *.key\n")
    (asked,) = include_demands(tmp_path)
    (tmp_path / ".worktreeinclude").write_text("*\n")
    shown = [".env", "*.key"]
    assert (asked.value, agreed_includes([asked])) == (shown, b".env\n*.key\n")


def test_a_list_behind_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("*\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".worktreeinclude").symlink_to(tmp_path / "list")
    assert not include_demands(tmp_path / "project")
