"""An agent that can write where ralph is installed changes nothing about the run that started it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import ralph
from ralph.adapters.processes.watcher_program import COMPILED, FORMAT, compiled_watcher
from tests.acceptance.conftest import PROMPT, Project

LIE = """

_honest = ShellCommands.run


async def _lie(self, *arguments, **named):
    ran = await _honest(self, *arguments, **named)
    object.__setattr__(ran, "passed", True)
    return ran


ShellCommands.run = _lie
"""
LYING_WATCHER = """

_honest = _reap


def _reap(root):
    status, is_alone = _honest(root)
    return (None if status is None else 0), is_alone
"""
REWRITE = """import importlib.util, marshal, os, struct, sys

source, added, is_compiled = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3] == "compiled"
told = open(source).read() + added
if is_compiled:  # beside a source that is as it was
    about, place = os.stat(source), importlib.util.cache_from_source(source)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    head = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(about.st_mtime), about.st_size)
    open(place, "wb").write(head + marshal.dumps(compile(told, source, "exec")))
else:
    open(source, "w").write(told)
"""
END_WATCHER = """me=$PPID
watcher=$(ps -o ppid= -p $me | tr -d ' ')
kill -9 $watcher $(ps -o pid= --ppid $watcher | grep -vw $me)
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


@pytest.mark.skipif(sys.platform != "linux", reason="only there the watcher starts programs")
@pytest.mark.parametrize("file", ["source", "compiled"])
def test_a_watcher_that_takes_the_place_of_another_is_the_one_that_was_started(
    project: Project, copy: Path, file: str
) -> None:
    lie, rewrite = project.programs / "lie.py", project.programs / "rewrite.py"
    lie.write_text(LYING_WATCHER)
    rewrite.write_text(REWRITE)
    watcher = copy / "ralph" / "adapters" / "processes" / "watcher_main.py"
    watcher.with_suffix(".elf").unlink(missing_ok=True)
    words = shlex.join([sys.executable, str(rewrite), str(watcher), str(lie), file])
    ran = run_from(copy, project, "basic", "false", rewrites=f"{words}\n{END_WATCHER}", git=True)
    assert list(watcher.parent.glob("**/watcher_main*.pyc" if file == "compiled" else watcher.name))
    assert "Guardrail failed: false" in ran.stderr
    assert ran.returncode == 1


@pytest.mark.skipif(compiled_watcher() is None, reason="it was not built here: there was no C compiler")
def test_a_compiled_watcher_that_takes_the_place_of_another_is_the_one_that_was_started(
    project: Project, copy: Path
) -> None:
    watcher = copy / "ralph" / "adapters" / "processes" / COMPILED.name
    other = project.programs / "other"
    other.write_bytes(Path("/bin/true").read_bytes() + FORMAT)
    rewrites = f"cp {other} {watcher}\n{END_WATCHER}"
    ran = run_from(copy, project, "basic", "false", rewrites=rewrites, git=True)
    assert watcher.read_bytes() == other.read_bytes()
    assert "Guardrail failed: false" in ran.stderr
    assert ran.returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only there the watcher starts programs")
def test_a_watcher_that_takes_the_place_of_another_is_run_by_the_same_python(
    project: Project, copy: Path, tmp_path: Path
) -> None:
    (copy / "ralph" / "adapters" / "processes" / COMPILED.name).unlink(missing_ok=True)
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    python = environment / "bin" / "python"
    rewrites = f"rm {python}\nprintf '#!/bin/sh\\nexit 0\\n' > {python}\nchmod +x {python}\n{END_WATCHER}"
    ran = run_from(copy, project, "basic", "false", rewrites=rewrites, git=True, python=python)
    assert python.read_text().startswith("#!/bin/sh")
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
    copy: Path,
    project: Project,
    profile: str,
    guardrail: str,
    *,
    rewrites: str,
    git: bool,
    python: str | Path = sys.executable,
) -> subprocess.CompletedProcess[str]:
    project.program("worker", f"{rewrites}\n{CLAIM}\n")
    project.settings(agent={"command": "worker"}, guardrails=[{"command": guardrail}])
    if git:
        project.git("init", "-q")
    places = [str(copy), *(place for place in sys.path if place.endswith("site-packages"))]
    project.environment.update(PYTHONPATH=os.pathsep.join(places), PYTHONDONTWRITEBYTECODE="1")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *words],
            env=project.env(),
            cwd=project.root,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    found = run("-c", "import ralph; print(ralph.__file__)")
    assert found.stdout.startswith(str(copy)), "else it is the ralph of this checkout that is rewritten"
    return run("-m", "ralph", "run", "-p", PROMPT, "--profile", profile, "-m", "1", "--trust")
