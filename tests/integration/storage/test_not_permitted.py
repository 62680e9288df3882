"""A state folder that is another user's, as after one `sudo ralph`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    state = tmp_path / ".ralph"
    state.mkdir()
    (state / "settings.json").write_text("{}")
    state.chmod(0)
    yield tmp_path
    state.chmod(0o700)


@pytest.mark.parametrize(
    "command",
    [
        "status",
        "runs",
        "logs",
        "show",
        "report",
        "lessons",
        "stop",
        "task list",
        "doctor",
        "bus read",
        "init --yes --agent claude",
    ],
)
def test_what_may_not_be_read_is_an_error_and_not_absent(project: Path, command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ralph", *command.split()],
        cwd=project,
        env={**os.environ, "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode in (2, 4), said
    assert "permission denied" in said.lower()
    assert ".ralph" in said
    assert "internal error" not in said
