"""Worktrees of real npm and pip projects: packages from the registries, in the sandbox where there is one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.acceptance.conftest import Project
from tests.acceptance.task_project import PROMISES, TaskProject

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")

PIP = "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)"
IN_SANDBOX = ("--sandbox", "bwrap") if shutil.which("bwrap") else ()


@pytest.fixture
def tasks(tmp_path: Path) -> TaskProject:
    root, programs = tmp_path / "project", tmp_path / "programs"
    root.mkdir()
    programs.mkdir()
    return TaskProject(Project(root, programs))


def ask(*command: str, cwd: Path) -> str:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def agent(tasks: TaskProject, body: str) -> None:
    """All of it is in one program: a sandbox shows no other file of ours."""
    says = f"<promise>{PROMISES['coder']}</promise>"
    tasks.project.program("worker", f"cat > /dev/null\n{body} && echo made > T-1.txt\necho '{says}'\n")


def set_up(tasks: TaskProject, setup: str | list[str], hosts: Sequence[str]) -> None:
    others = {
        "workspace": {"setup": setup, "allow": list(hosts)},
        "sandbox": {"readonly": [sys.base_prefix]},  # a Python may lie in a home folder
    }
    tasks.settings(others=others)


def test_npm_installs_what_the_lock_file_says_also_after_a_task_changed_it(tasks: TaskProject) -> None:
    """The agent has no network, and does not install what it asks for."""
    for name in ("ms", "wrappy"):  # the second time both of them
        ask("npm", "install", "--package-lock-only", "--no-audit", "--no-fund", name, cwd=tasks.root)
        if name == "ms":
            tasks.write(".gitignore", "node_modules/\n")
            tasks.commit("one dependency")
    for file in ("package.json", "package-lock.json"):
        shutil.copy(tasks.root / file, tasks.root / f"next-{file.removeprefix('package')}")
        tasks.git("checkout", file)
    tasks.commit("what the task will want")
    registry = ask("npm", "config", "get", "registry", cwd=tasks.root)
    set_up(tasks, "npm ci --no-audit --no-fund", [urlsplit(registry).hostname or ""])
    agent(
        tasks,
        "node -e \"require('ms')\" && for file in .json -lock.json; do cp next-$file package$file; done",
    )
    tasks.verified("test -f T-1.txt && node -e \"require('ms'); require('wrappy')\"")

    tasks.work(*IN_SANDBOX, check=0)

    assert "wrappy" in tasks.git("show", "main:package-lock.json")
    assert not (tasks.root / "node_modules").exists()


def test_pip_installs_into_an_environment_of_each_worktree(tasks: TaskProject) -> None:
    tasks.write("requirements.txt", "iniconfig==2.0.0\n")
    tasks.write(".gitignore", ".venv/\n")
    tasks.commit("one dependency")
    hosts = ask(sys.executable, "-c", PIP, cwd=tasks.root).split()
    python = Path(sys.base_prefix, "bin", "python3")
    setup = [f"{python} -m venv .venv", ".venv/bin/python -m pip install -q -r requirements.txt"]
    set_up(tasks, setup, hosts)
    agent(tasks, '.venv/bin/python -c "import iniconfig"')
    tasks.verified('test -f T-1.txt && .venv/bin/python -c "import iniconfig"')

    tasks.work(*IN_SANDBOX, check=0)

    assert "T-1.txt" in tasks.files()
    assert not (tasks.root / ".venv").exists()
