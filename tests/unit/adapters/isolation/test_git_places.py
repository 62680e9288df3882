"""Which of git's files are read-only in a sandbox."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.adapters.isolation.git_places import GitPlaces, git_places, make_common_dir
from ralph.errors import ConfigError


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments], cwd=folder, check=True, capture_output=True
    )


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_without_a_repository_none_can_be_made(tmp_path: Path) -> None:
    assert git_places(tmp_path) == GitPlaces(barred=(tmp_path / ".git", tmp_path / "commondir"))


def test_of_a_plain_repository_hooks_and_configuration_are_read_only(tmp_path: Path) -> None:
    top = repository(tmp_path / "a")
    make_common_dir(top)
    running = ("hooks", "branches", "remotes", "config", "commondir")
    assert git_places(top) == GitPlaces(
        writable=(top / ".git",),
        readonly=tuple(top / ".git" / name for name in running),
        barred=(top / "commondir",),
    )
    assert (top / ".git" / "commondir").read_text() == ".\n"


def test_a_folder_in_a_repository_is_in_it(tmp_path: Path) -> None:
    top = repository(tmp_path / "a")
    (top / "sub" / "sub").mkdir(parents=True)
    found = git_places(top / "sub" / "sub")
    assert found.writable == (top / ".git",)
    assert found.top == top
    assert found.barred == (top / "sub" / "sub" / ".git", top / "sub" / "sub" / "commondir")


def test_missing_hooks_are_made_before_the_agent_can(tmp_path: Path) -> None:
    top = repository(tmp_path / "a")
    for sample in (top / ".git/hooks").iterdir():
        sample.unlink()
    (top / ".git/hooks").rmdir()
    assert top / ".git/hooks" in git_places(top).readonly
    assert (top / ".git/hooks").is_dir()


def test_submodules_are_protected_like_their_parent(tmp_path: Path) -> None:
    top, other = repository(tmp_path / "a"), repository(tmp_path / "b")
    git(top, "submodule", "add", "-q", str(other), "part")
    found = git_places(top)
    assert {top / ".git/modules/part/hooks", top / ".git/modules/part/config"} <= set(found.readonly)
    inner = git_places(top / "part")
    assert inner.writable == (top / ".git/modules/part",)
    assert top / "part/.git" in inner.readonly


def test_a_worktree_has_its_folder_elsewhere(tmp_path: Path) -> None:
    top, tree = repository(tmp_path / "a"), tmp_path / "tree"
    git(top, "worktree", "add", "-q", str(tree))
    git(top, "worktree", "add", "-q", str(tmp_path / "other"))
    found = git_places(tree)
    assert found.readable == (top / ".git",)
    assert found.writable == tuple(
        top / ".git" / name for name in ("worktrees/tree", "objects", "refs", "logs")
    )
    assert {
        tree / ".git",
        top / ".git/worktrees/tree/commondir",
        top / ".git/worktrees/tree/gitdir",
    } <= set(found.readonly)


def test_a_git_file_that_leads_nowhere_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /no/such/folder\n")
    assert git_places(tmp_path) == GitPlaces(readonly=(tmp_path / ".git",), barred=(tmp_path / "commondir",))
    (tmp_path / ".git").write_bytes(b"\xff\x00 nonsense")
    assert git_places(tmp_path) == GitPlaces(readonly=(tmp_path / ".git",), barred=(tmp_path / "commondir",))


def test_a_submodule_that_names_its_own_working_tree_is_protected_too(tmp_path: Path) -> None:
    top, other = repository(tmp_path / "a"), repository(tmp_path / "b")
    git(top, "submodule", "add", "-q", str(other), "part")
    make_common_dir(top / "part")
    assert top / ".git/modules/part/commondir" in git_places(top / "part").readonly
    git(top / "part", "status")
    git(top, "status")


@pytest.mark.parametrize(("key", "value"), [("core.worktree", "/elsewhere"), ("core.bare", "yes")])
def test_where_the_configuration_names_another_working_tree_nothing_can_be_protected(
    tmp_path: Path, key: str, value: str
) -> None:
    top = repository(tmp_path / "a")
    git(top, "config", key, value)
    with pytest.raises(ConfigError, match="cannot be protected"):
        git_places(top)


def test_submodules_stay_protected_whatever_an_agent_moves_away_or_puts_above_them(tmp_path: Path) -> None:
    top, other = repository(tmp_path / "a"), repository(tmp_path / "b")
    git(top, "submodule", "add", "-q", str(other), "deep/part")
    modules = top / ".git" / "modules"
    (modules / "deep" / "part" / "objects").rename(modules / "aside")
    (modules / "config").touch()
    found = git_places(top).readonly
    assert modules / "deep" / "part" / "config" in found
    assert modules / "deep" / "part" / "hooks" in found
