"""Which paths of a change are taken from the base, because agents obey them or what they lead to."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git import Git
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace.withheld import withheld
from ralph.errors import GitFailed

BASE = (
    "git init -q -b main && mkdir docs && echo 'see @docs/rules.md' > AGENTS.md && echo rules > docs/rules.md"
    " && echo code > code.py && git add -A && git commit -qm base"
)
CHANGE = "echo 'rules of mine' > docs/rules.md && echo more >> code.py && git commit -qam change"


def sh(root: Path, script: str) -> str:
    ran = subprocess.run(
        ["sh", "-ec", script], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.strip()


def find(root: Path) -> list[str]:
    git = Git(root, PosixProcessRunner(run_id="", base_environment=os.environ))
    return asyncio.run(withheld(git, sh(root, "git rev-parse HEAD"), sh(root, "git rev-parse HEAD~1")))


def test_what_is_imported_by_what_is_obeyed(tmp_path: Path) -> None:
    sh(tmp_path, BASE)
    sh(tmp_path, CHANGE)
    assert find(tmp_path) == ["docs/rules.md"]


def test_what_cannot_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    """Or a change would decide what its reviewer obeys."""
    sh(tmp_path, BASE)
    sh(tmp_path, CHANGE)
    name = sh(tmp_path, "git rev-parse HEAD:AGENTS.md")
    (tmp_path / ".git" / "objects" / name[:2] / name[2:]).unlink()

    with pytest.raises(GitFailed, match="grep"):
        find(tmp_path)
