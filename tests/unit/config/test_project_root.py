"""Finding the project from wherever ralph was started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.config.project_search import is_declared_safe
from ralph.config.root import Root, find_root
from ralph.errors import UsageError


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def same(path: Path) -> Root:
    return Root(path, path)


def test_without_any_sign_the_current_directory_is_the_root(tmp_path: Path) -> None:
    assert find_root(tmp_path) == same(tmp_path)


def test_the_nearest_ancestor_with_settings_is_the_root(tmp_path: Path) -> None:
    folder(tmp_path / ".ralph")
    folder(tmp_path / "a" / ".ralph")
    deep = folder(tmp_path / "a" / "b" / "c")
    assert find_root(deep) == same(tmp_path / "a")


def test_settings_win_over_the_git_top_level_that_they_are_in(tmp_path: Path) -> None:
    (folder(tmp_path / ".git") / "HEAD").touch()
    folder(tmp_path / "part" / ".ralph")
    assert find_root(folder(tmp_path / "part" / "deep")) == same(tmp_path / "part")


def test_a_repository_wins_over_settings_above_it(tmp_path: Path) -> None:
    folder(tmp_path / ".ralph")
    (folder(tmp_path / "repository" / ".git") / "HEAD").touch()
    assert find_root(folder(tmp_path / "repository" / "deep")) == same(tmp_path / "repository")


def test_else_the_git_top_level_is_the_root(tmp_path: Path) -> None:
    (folder(tmp_path / ".git") / "HEAD").touch()
    assert find_root(folder(tmp_path / "a" / "b")) == same(tmp_path)


def test_an_empty_folder_of_gits_name_is_no_repository(tmp_path: Path) -> None:
    folder(tmp_path / ".git")
    assert find_root(folder(tmp_path / "a")) == same(tmp_path / "a")


def test_a_file_named_like_the_folder_is_no_sign(tmp_path: Path) -> None:
    (tmp_path / ".ralph").write_text("")
    assert find_root(folder(tmp_path / "a")) == same(tmp_path / "a")


def test_settings_in_the_home_directory_do_not_swallow_projects_below_it(tmp_path: Path) -> None:
    folder(tmp_path / ".ralph")
    (folder(tmp_path / ".git") / "HEAD").touch()
    folder(tmp_path / "project")
    assert find_root(tmp_path / "project", home=tmp_path) == same(tmp_path / "project")
    assert find_root(tmp_path, home=tmp_path) == same(tmp_path)


def test_a_given_directory_is_the_root_whatever_is_around_it(tmp_path: Path) -> None:
    folder(tmp_path / ".ralph")
    inner = folder(tmp_path / "a" / "b")
    assert find_root(tmp_path / "a", Path("b")) == same(inner)
    assert find_root(Path("/"), inner) == same(inner)


def test_a_given_directory_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere is not a directory"):
        find_root(tmp_path, Path("nowhere"))


def git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, timeout=90)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    main = folder(tmp_path / "main")
    git("init", "-q", cwd=main)
    folder(main / ".ralph")
    (main / ".ralph" / "settings.json").write_text("{}")
    folder(main / "package" / ".ralph")
    (main / "package" / ".ralph" / "settings.json").write_text("{}")
    git("add", ".", cwd=main)
    git("commit", "-qm", "start", cwd=main)
    return main


def test_a_worktree_keeps_its_state_in_the_main_checkout(tmp_path: Path, repository: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=repository)
    tree = tmp_path / "tree"
    assert find_root(tree) == Root(repository, tree)
    assert find_root(folder(tree / "deep")) == Root(repository, tree)
    assert find_root(tmp_path, tree) == Root(repository, tree)


def test_a_part_of_a_worktree_keeps_its_state_in_the_same_part_of_the_main_checkout(
    tmp_path: Path, repository: Path
) -> None:
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=repository)
    package = tmp_path / "tree" / "package"
    assert find_root(package) == Root(repository / "package", package)


def test_a_worktree_of_a_bare_repository_keeps_its_own_state(tmp_path: Path, repository: Path) -> None:
    git("clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=tmp_path / "bare.git")
    assert find_root(tmp_path / "tree") == same(tmp_path / "tree")


@pytest.mark.parametrize(
    "content",
    [
        b"gitdir: ../.git/modules/sub\n",
        b"gitdir: /gone/.git/worktrees/x\n",
        b"nonsense",
        b"",
        b"gitdir:\0",
        b"gitdir: \xff",
    ],
)
def test_any_other_git_file_marks_its_own_root(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert find_root(folder(tmp_path / "a")) == same(tmp_path)


def worktree(tmp_path: Path, *, names: str) -> Path:
    made = folder(tmp_path / "main" / ".git" / "worktrees" / "x")
    (made / "gitdir").write_text(names)
    tree = folder(tmp_path / "tree")
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/x\n")
    return tree


def test_a_relative_git_file_of_a_worktree_is_followed(tmp_path: Path) -> None:
    tree = worktree(tmp_path, names="../../../../tree/.git\n")
    assert find_root(tree) == Root(tmp_path / "main", tree)


@pytest.mark.parametrize("names", ["", "\0", "/elsewhere/.git", "../../../../other/.git", "x" * 9_000])
def test_a_checkout_that_does_not_know_a_worktree_keeps_no_state_for_it(tmp_path: Path, names: str) -> None:
    tree = worktree(tmp_path, names=names)
    assert find_root(tree) == same(tree)


@pytest.mark.parametrize(
    ("written", "listed"),
    [
        ("[safe]\n\tdirectory = {}\n", True),
        ('[safe]\n directory = "{}"\n', True),
        ("[Safe] Directory={} ; why\n", True),
        ("[safe]\ndirectory = *\n", True),
        ("[safe]\ndirectory = {}/../*\n", True),
        ("[safe]\ndirectory = {}/\n", True),
        ("[safe]\ndirectory = {}x\n", False),
        ("[safe]\ndirectory = {}/below\n", False),
        ("[safe]\ndirectory = .\n", False),
        ("[safe]\ndirectory = {}\ndirectory =\n", False),
        ("[safe]\ndirectory =\ndirectory = {}\n", True),
        ("[user]\ndirectory = {}\n", False),
        ('[safe "x"]\ndirectory = {}\n', False),
        ("", False),
    ],
)
def test_the_users_git_configuration_says_which_folders_of_others_are_safe(
    tmp_path: Path, written: str, listed: bool
) -> None:
    file = tmp_path / "config"
    file.write_text(written.format(tmp_path))
    environ = {"GIT_CONFIG_GLOBAL": str(file), "GIT_CONFIG_NOSYSTEM": "1"}
    assert is_declared_safe(str(tmp_path), environ) is listed
