"""A throwaway project with a made-up agent on PATH, and ralph's command lines in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.child import Cost, cost_of

PROMPT = "Do the work, then output <response>DONE</response>."
LIMIT_REACHED = 1
"""Our agents never say that they are done, so their runs end like this."""

# Users have keys in their environment, and searching all output for them is part of the cost.
SECRETS = {
    "ANTHROPIC_API_KEY": "bench-key-0123456789-abcdefghijklmnopqrstuvwxyz",
    "GITHUB_TOKEN": "bench-token-9876543210-zyxwvutsrqponmlkjihgfedcba",
}
_NOT_PASSED_ON = (
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONPROFILEIMPORTTIME",
    "CLAUDECODE",
    "NO_COLOR",
)


@dataclass(frozen=True, slots=True)
class Project:
    root: Path
    programs: Path

    def settings(self, **values: object) -> None:
        folder = self.root / ".ralph"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(values))

    def program(self, name: str, body: str) -> Path:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def environment(self, *, is_waived: bool = True) -> dict[str, str]:
        """``is_waived``: whatever the settings ask for is trusted, unseen."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in _NOT_PASSED_ON and not name.startswith("RALPH_")
        }
        path = f"{self.programs}{os.pathsep}{kept.get('PATH', os.defpath)}"
        trust = {"RALPH_TRUST": "1"} if is_waived else {}
        return {**kept, **SECRETS, "PATH": path, "XDG_STATE_HOME": str(self.programs), **trust}

    def ralph(self, *arguments: str, expected: Sequence[int] = (0,)) -> Cost:
        return self.run([ralph_program(), *arguments], expected=expected)

    def ralph_run(self, iterations: int, *arguments: str) -> Cost:
        """A run that uses up its iterations."""
        limit = ("-m", str(iterations))
        return self.ralph("run", "-p", PROMPT, *limit, *arguments, expected=(LIMIT_REACHED,))

    def python(self, code: str, *arguments: str) -> Cost:
        return self.run([python_program(), "-c", code, *arguments])

    def run(
        self, argv: Sequence[str], *, expected: Sequence[int] = (0,), stdin: Path | int | None = None
    ) -> Cost:
        return cost_of(argv, cwd=self.root, environment=self.environment(), expected=expected, stdin=stdin)

    def begin_repository(self) -> None:
        """With one commit, which tasks can branch off."""
        for arguments in (
            ("init", "-q", "-b", "main"),
            ("config", "user.name", "bench"),
            ("config", "user.email", "bench@example.invalid"),
            ("commit", "-q", "--allow-empty", "-m", "start"),
        ):
            self.run(["git", *arguments])

    def forget_runs(self) -> None:
        """Old runs would fill the disk, and a big folder is slower than a small one."""
        for entry in (self.root / ".ralph").iterdir():
            if entry.name == "settings.json":
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def ralph_program() -> str:
    """What users start: the console script that BENCH_RALPH names, or the one next to our Python."""
    return os.environ.get("BENCH_RALPH") or str(Path(sys.executable).with_name("ralph"))


def python_program() -> str:
    """That of ``ralph_program``: with other packages it takes another time to start."""
    return str(Path(ralph_program()).with_name("python"))


@contextmanager
def new_project(folder: Path, name: str) -> Iterator[Project]:
    root, programs = folder / name, folder / f"{name}-programs"
    root.mkdir()
    programs.mkdir()
    try:
        yield Project(root, programs)
    finally:
        shutil.rmtree(root)
        shutil.rmtree(programs)
