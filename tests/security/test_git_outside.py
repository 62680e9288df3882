"""git outside of the sandbox, after an agent laid a trap for it inside."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.isolation.outside import safe_git_variables

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
        git config core.fsmonitor "$PWD/../trap.sh"
        git config filter.trap.clean "'$PWD/../trap.sh'; cat"
        echo '* filter=trap' > .git/info/attributes
        cd .. && git add inner trap.sh && echo more >> inner/file
        """,
        str(mark),
    )
    assert (sandboxed.workspace / "inner" / ".git" / "config").exists()
    assert not mark.exists()
    return mark


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--"],
        ["add", "-A"],
        ["diff", "HEAD"],
        ["commit", "-q", "-a", "-m", "x"],
        ["stash", "push"],
    ],
)
def test_a_repository_that_the_agent_made_runs_nothing_outside(
    sandboxed: Sandboxed, trap: Path, arguments: list[str]
) -> None:
    environ = {**os.environ, **safe_git_variables(os.environ)}
    subprocess.run(
        ["git", *arguments], cwd=sandboxed.workspace, env=environ, capture_output=True, check=False
    )
    assert not trap.exists()


def test_what_the_user_configures_by_variables_stays() -> None:
    environ = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}
    variables = safe_git_variables(environ)
    assert variables["GIT_CONFIG_COUNT"] == "5"
    assert "GIT_CONFIG_KEY_0" not in variables
    assert variables["GIT_CONFIG_KEY_1"] == "core.fsmonitor"
    assert safe_git_variables({"GIT_CONFIG_COUNT": "nonsense"})["GIT_CONFIG_COUNT"] == "4"
