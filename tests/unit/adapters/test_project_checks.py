"""Which of the suggested checks can run here."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.project_checks import find_checks


def test_what_is_not_on_path_may_be_in_the_projects_own_environment(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"# \xff\n[tool.pytest]\n[tool.ruff]\n")
    (tmp_path / "setup.cfg").mkdir()
    os.mkfifo(tmp_path / "Makefile")  # nobody will ever write into it
    program = tmp_path / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    found = find_checks(tmp_path, {"PATH": str(tmp_path)})
    assert [each.command for each in found.usable] == [".venv/bin/pytest -q"]
    assert [each.command for each in found.absent] == ["ruff check ."]
