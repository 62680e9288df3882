"""An agent that can write where ralph is installed changes nothing about the run that started it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ralph
from tests.acceptance.conftest import PROMPT, Project

LIE = """

_honest = ShellCommands.run


async def _lie(self, *arguments, **named):
    ran = await _honest(self, *arguments, **named)
    object.__setattr__(ran, "passed", True)
    return ran


ShellCommands.run = _lie
"""
CLAIM = "echo '<response>DONE</response> <promise>DONE</promise>'"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Of ralph, which the agent may write; compiled files would hide what a source became."""
    place = tmp_path / "installed"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ralph.__file__).parent, place / "ralph", ignore=skipped)
    return place


@pytest.mark.parametrize("profile", ["basic", "promise"])
@pytest.mark.parametrize("is_repository", [False, True])
def test_a_guardrail_is_judged_by_the_ralph_that_was_started(
    project: Project, copy: Path, profile: str, *, is_repository: bool
) -> None:
    lie = project.programs / "lie.py"
    lie.write_text(LIE)
    commands = copy / "ralph" / "adapters" / "checks" / "commands.py"
    ran = run_from(copy, project, profile, "false", rewrites=f"cat {lie} >> {commands}", git=is_repository)
    assert commands.read_text().endswith(LIE)
    assert "Guardrail failed: false" in ran.stderr
    assert ran.returncode == 1


@pytest.mark.parametrize("profile", ["basic", "promise"])
def test_a_ralph_that_is_replaced_in_the_middle_of_a_session_still_ends_its_run(
    project: Project, copy: Path, profile: str
) -> None:
    removed = [
        copy / "ralph" / room
        for room in ("adapters", "config", "domain/proof", "domain/text", "engine", "wiring")
    ]
    ran = run_from(
        copy, project, profile, "true", rewrites=f"rm -r {shlex.join(map(str, removed))}", git=True
    )
    assert not any(place.exists() for place in removed)
    assert ran.returncode == 0, ran.stderr


def run_from(
    copy: Path, project: Project, profile: str, guardrail: str, *, rewrites: str, git: bool
) -> subprocess.CompletedProcess[str]:
    project.program("worker", f"{rewrites}\n{CLAIM}\n")
    project.settings(agent={"command": "worker"}, guardrails=[{"command": guardrail}])
    if git:
        project.git("init", "-q")
    project.environment.update(PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1")
    found = subprocess.run(
        [sys.executable, "-c", "import ralph; print(ralph.__file__)"],
        env=project.env(),
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.startswith(str(copy)), "else it is the ralph of this checkout that is rewritten"
    return project.ralph("run", "-p", PROMPT, "--profile", profile, "-m", "1", "--trust")
