"""A project, agents on PATH, and the installed ``ralph`` as a subprocess."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import move_home

DONE = "<response>DONE</response>"
PROMPT = f"Do the work, then output {DONE}."

Session = Sequence[Mapping[str, Any]]


@dataclass
class Project:
    """A directory with settings, and fake agents that speak the real ones' formats."""

    root: Path
    programs: Path
    environment: dict[str, str] = field(default_factory=dict)

    def settings(self, name: str = "settings.json", **values: Any) -> None:
        folder = self.root / ".ralph"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(values))

    def agent(self, *sessions: Session, name: str = "claude", commits: Sequence[str] = ()) -> Path:
        """Put an agent on PATH that plays one session per launch."""
        script = self.programs / f"{name}.json"
        script.write_text(json.dumps({"sessions": list(sessions), "commits": list(commits)}))
        kind = name if name in ("claude", "codex", "amp") else "plain"
        fake = [sys.executable, "-m", "ralph.testing.fake_agent_cli", "--script", str(script), "--as", kind]
        return self.program(name, f'exec {shlex.join(fake)} "$@"\n')

    def program(self, name: str, body: str) -> Path:
        """On PATH, and beside its script by a link: in a sandbox a folder on PATH is read-only."""
        path = self.programs / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
        link = self.programs / name
        if not link.is_symlink():
            link.symlink_to(Path("bin", name))
        return link

    def ralph(
        self,
        *arguments: str,
        check: int | None = None,
        cwd: Path | None = None,
        stdin: str | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            [sys.executable, "-m", "ralph", *arguments],
            cwd=cwd or self.root,
            env=self.env(**environment),
            capture_output=True,
            text=True,
            timeout=110,
            input=stdin,
            check=False,
        )
        if check is not None:
            assert ran.returncode == check, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran

    def env(self, **more: str) -> dict[str, str]:
        path = f"{self.programs / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONUTF8": "1", **self.environment, **more}

    def prompt(self, iteration: int) -> str:
        return (self.root / ".ralph" / f"prompt_{iteration:03}.txt").read_text()

    def prompts(self) -> list[str]:
        """Of every session of every run, in order: the names of two runs of one second say nothing."""
        files = (self.root / ".ralph" / "runs").glob("*/prompt_*.txt")
        return [file.read_text() for file in sorted(files, key=lambda file: file.stat().st_mtime_ns)]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        database = sqlite3.connect(f"file:{self.root / '.ralph' / 'ralph.db'}?mode=ro", uri=True)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True, timeout=90
        ).stdout


def make_once(folder: Path, make: Callable[[Project], None]) -> Path:
    """A folder with a project in it that many tests begin with: for ``copy_of``, in a fixture of a module."""
    project = Project(folder / "project", folder / "programs")
    project.root.mkdir()
    project.programs.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        move_home(folder, patch)
        make(project)
    return folder


def copy_of(original: Path, tmp_path: Path) -> Project:
    shutil.copytree(original / "project", tmp_path / "project", symlinks=True)
    shutil.copytree(original / "programs", tmp_path / "programs", symlinks=True)
    return Project(tmp_path / "project", tmp_path / "programs")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root, programs = tmp_path / "project", tmp_path / "programs"
    root.mkdir()
    programs.mkdir()
    return Project(root, programs)
