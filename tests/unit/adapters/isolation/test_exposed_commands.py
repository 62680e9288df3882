"""Commands that the agent could change and that run outside are named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.adapters.isolation.outside import exposed_commands


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "tell.sh").touch()
    (folder / "tell").touch()
    return folder


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("scripts/tell.sh done", "scripts/tell.sh"),
        ("./tell", "tell"),
        ("sh 'scripts/tell.sh'", "scripts/tell.sh"),
        ("tell", "tell"),
        ("bell", None),
        ("/bin/sh -c true", None),
        ("echo 'it''s \"torn", None),
        ("", None),
        ("sh ./scripts/later.sh", "scripts/later.sh"),
        ("~nobody-of-that-name/x", "~nobody-of-that-name/x"),
        ("x" * 5000, None),
        ("../elsewhere", None),
    ],
)
def test_a_program_in_the_workspace_is_found(workspace: Path, command: str, found: str | None) -> None:
    expected = (
        [f"runs outside, though the agent can change it: {workspace / found} (notify)"] if found else []
    )
    assert list(exposed_commands(workspace, {"notify": [command]})) == expected


def test_filters_of_git_are_looked_at_too(workspace: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    config = (
        f'[filter "a"]\n\tclean = "\'{workspace}/tell\' %f"\n[filter "b"]\n\tclean = git-lfs clean -- %f\n'
    )
    with (workspace / ".git" / "config").open("a") as file:
        file.write(config)
    assert [sentence.rpartition("(")[2] for sentence in exposed_commands(workspace, {})] == [
        "git's filter.a.clean)"
    ]
