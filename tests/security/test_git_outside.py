"""git outside of the sandbox, after an agent laid a trap for it inside."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git import Git
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
    environ = {**os.environ, **safe_git_variables(os.environ, helpers)}
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


def test_what_the_user_configures_by_variables_stays() -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}
    variables = safe_git_variables({**given, "PATH": "/bin"}, "/helpers")
    assert variables["GIT_CONFIG_COUNT"] == "5"
    assert "GIT_CONFIG_KEY_0" not in variables
    assert variables["GIT_CONFIG_KEY_1"] == "core.fsmonitor"
    assert variables["PATH"] == "/helpers:/bin"
    assert safe_git_variables({"GIT_CONFIG_COUNT": "nonsense", "PATH": ""}, "")["GIT_CONFIG_COUNT"] == "4"
