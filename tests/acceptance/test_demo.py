"""The demo is the first thing a stranger sees: it must work, and it must show a lie being caught."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .conftest import Project


def test_the_demo_catches_the_lie_fixes_the_code_and_commits(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "shop"

    ran = project.ralph("demo", str(folder), check=0)

    assert "the agent said DONE, but still failing: ./run-tests" in ran.stderr
    assert "Accepted: the agent said DONE and 4 checks passed" in ran.stderr
    assert "Check passed: clean checkout" in ran.stderr
    assert "Check passed: planted failing test (" in ran.stderr
    assert "Completed" in ran.stderr
    assert "claude itself is not started, and no account is used" in ran.stderr.split("ralph run ")[0]
    assert "pip install '.[all]'" in ran.stderr
    assert "<response>DONE</response>" in ran.stdout
    assert str(folder / ".ralph" / "ralph.db") in ran.stderr
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=folder, capture_output=True, text=True, check=True, timeout=90
    ).stdout
    assert log.splitlines() == ["Compute totals and discounts correctly", "A shop whose tests fail"]
    subprocess.run(["./run-tests"], cwd=folder, check=True, capture_output=True, timeout=90)


def test_the_demo_does_not_write_into_existing_work(project: Project, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = project.ralph("demo", str(tmp_path), check=2)
    assert "not an empty directory" in ran.stderr


def test_a_place_where_nothing_can_be_made_gets_a_clear_word(project: Project) -> None:
    # Not even root can make a folder there.
    ran = project.ralph("demo", "/proc/ralph-demo", check=4)
    assert "cannot write the demo's project in /proc/ralph-demo: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "internal error" not in ran.stderr
