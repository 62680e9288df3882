"""git outside of the sandbox, after an agent laid a trap for it inside."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git import GATE, Git
from ralph.adapters.isolation.outside import safe_git_variables
from ralph.adapters.processes.runner import PosixProcessRunner

from .conftest import Sandboxed


@pytest.fixture
def trap(sandboxed: Sandboxed, tmp_path: Path) -> Path:
    """What exists once the trap has gone off."""
    mark = tmp_path / "gone-off"
    sandboxed.shell(
        """
        git init -q inner && cd inner
        echo x > file && git add file && git commit -q -m inner
        printf '#!/bin/sh\\ntouch "%s"\\n' "$1" > ../trap.sh && chmod +x ../trap.sh
        git config core.fsmonitor "'$PWD/../trap.sh'"
        git config filter.trap.clean "'$PWD/../trap.sh'; cat"
        git config diff.trap.command "'$PWD/../trap.sh'"
        echo '* filter=trap diff=trap' > .git/info/attributes
        printf '[submodule "inner"]\\n\\tpath = inner\\n\\turl = ./inner\\n\\tignore = none\\n' > ../.gitmodules
        cd .. && git add inner trap.sh .gitmodules && git commit -q -m outer && git branch other
        git commit -q --allow-empty -m more && echo more >> inner/file
        """,
        str(mark),
    )
    assert (sandboxed.workspace / "inner" / ".git" / "config").exists()
    assert not mark.exists()
    return mark


LOOKING = [
    ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--"],
    ["add", "-A"],
    ["add", "-u"],
    ["add", "inner"],
    ["diff", "HEAD"],
    ["diff-files"],
    ["diff-index", "HEAD"],
    ["commit", "-q", "-a", "-m", "x"],
    ["commit", "-q", "-m", "x", "--", "inner"],
    ["checkout", "other"],
    ["merge", "--no-ff", "other", "-m", "x"],
    ["stash", "push"],
    ["describe", "--always", "--dirty"],
    ["-c", "diff.submodule=diff", "diff"],
    ["-c", "diff.submodule=diff", "show"],
]


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_a_repository_that_the_agent_made_runs_nothing_outside(
    sandboxed: Sandboxed, trap: Path, arguments: list[str]
) -> None:
    """The user's own commands (``scm``)."""
    helpers = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environ = {**os.environ, **safe_git_variables(os.environ, helpers, sandboxed.workspace)}
    subprocess.run(
        ["git", *arguments], cwd=sandboxed.workspace, env=environ, capture_output=True, check=False
    )
    assert not trap.exists()


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_our_own_git_starts_none_in_a_repository_that_the_agent_made(
    sandboxed: Sandboxed, trap: Path, arguments: list[str]
) -> None:
    git = Git(sandboxed.workspace, PosixProcessRunner(run_id="test", base_environment=os.environ))
    asyncio.run(git.run(*arguments))
    assert not trap.exists()


@pytest.mark.parametrize("arguments", [["add", "-u"], ["diff-files"], ["-c", "diff.submodule=diff", "diff"]])
def test_any_other_git_goes_into_the_trap(sandboxed: Sandboxed, trap: Path, arguments: list[str]) -> None:
    subprocess.run(["git", *arguments], cwd=sandboxed.workspace, capture_output=True, check=False)
    assert trap.exists()


def through_the_gate(folder: Path, *arguments: str, **environment: str) -> str:
    environ = {**os.environ, "PATH": f"{GATE}:{os.environ['PATH']}", **environment}
    return subprocess.run(
        [GATE / "git", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("directory", [".git", ".", "inner/.git", "/inner/.git"])
def test_no_git_is_started_for_another_repository_however_it_is_named(
    sandboxed: Sandboxed, trap: Path, directory: str
) -> None:
    top = sandboxed.workspace
    named = f"{top}{directory}" if directory.startswith("/") else directory
    assert through_the_gate(top, "status", GIT_DIR=named) == ""
    assert not trap.exists()


def test_a_git_for_our_own_repository_is_started(sandboxed: Sandboxed) -> None:
    top = sandboxed.workspace
    assert "On branch" in through_the_gate(top, "status")
    own = str(top / ".git")
    assert "On branch" in through_the_gate(top, "status", GIT_DIR=own, OWN_GIT_DIR=own)


def test_fetching_from_and_pushing_to_this_machine_works_behind_the_gate(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    top, other = sandboxed.workspace, tmp_path / "other.git"
    helpers = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environ = {**os.environ, **safe_git_variables(os.environ, helpers, sandboxed.workspace)}

    def git(*arguments: str, cwd: Path = top) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=cwd, env=environ, capture_output=True, text=True, check=True
        ).stdout

    git("init", "-q", "--bare", str(other))
    git("push", "-q", str(other), "HEAD:refs/heads/new")
    git("fetch", "-q", str(other), "new")
    assert git("rev-parse", "FETCH_HEAD") == git("rev-parse", "HEAD")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert "On branch" in git("status", cwd=tmp_path / "tree")


def test_our_own_git_merges_in_a_worktree_and_makes_another(sandboxed: Sandboxed, tmp_path: Path) -> None:
    """There git names its folder to whatever it starts."""

    def git(folder: Path, *arguments: str) -> str:
        own = Git(folder, PosixProcessRunner(run_id="test", base_environment=os.environ))
        return asyncio.run(own.must(*arguments)).out

    one, two = tmp_path / "one", tmp_path / "two"
    git(sandboxed.workspace, "worktree", "add", "-q", "-b", "one", str(one))
    (one / "new").write_text("new")
    git(one, "add", "new")
    git(one, "commit", "-q", "-m", "new")
    git(one, "worktree", "add", "-q", "-b", "two", str(two))
    assert (two / "new").exists()
    git(sandboxed.workspace, "commit", "-q", "--allow-empty", "-m", "more")
    git(two, "merge", "-q", "--no-ff", "-m", "both", "main")
    (two / "new").write_text("newer")
    git(two, "stash")
    assert (two / "new").read_text() == "new"
    assert "newer" in git(two, "stash", "show", "-p")


def test_what_the_user_configures_by_variables_stays() -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}
    variables = safe_git_variables({**given, "PATH": "/bin"}, "/helpers", Path("/"))
    assert variables["GIT_CONFIG_COUNT"] == "5"
    assert "GIT_CONFIG_KEY_0" not in variables
    assert variables["GIT_CONFIG_KEY_1"] == "core.fsmonitor"
    assert variables["PATH"] == "/helpers:/bin"
    assert (
        safe_git_variables({"GIT_CONFIG_COUNT": "nonsense", "PATH": ""}, "", Path("/"))["GIT_CONFIG_COUNT"]
        == "4"
    )
