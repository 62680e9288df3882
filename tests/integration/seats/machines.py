"""Machines that share a remote: each a home of seats, and a remote that all of them push to."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.seats.seat import GitSeat, Pack
from ralph.adapters.seats.seats import GitSeats
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import ShiftEnd
from ralph.engine.fleet.ports import Found
from ralph.engine.ports import Command, Exit

T = TypeVar("T")
SECONDS = 60.0


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, SECONDS)

    return asyncio.run(bounded())


def git(folder: Path, *arguments: str, **environment: str) -> str:
    ran = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    return ran.stdout.decode(errors="surrogateescape").strip()


def make_remote(folder: Path, **options: str) -> Path:
    """A bare repository with one commit on ``main``."""
    first, remote = folder / "first", folder / "remote.git"
    git(
        folder, "init", "-q", "-b", "main", *(f"--{name}={value}" for name, value in options.items()), "first"
    )
    (first / "a.txt").write_text("one\n")
    (first / "b.txt").write_text("two\n")
    (first / ".gitignore").write_text("cache/\n*.tmp\n.ralph/\n")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "start")
    git(first, "tag", "-m", "first", "v1")
    git(folder, "clone", "-q", "--bare", "first", "remote.git")
    return remote


def copy_state(source: Path, target: Path) -> None:
    """As packing a record does, without a record."""
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("worktrees"))


class CountingRunner:
    """Counts the processes that are started, and keeps their arguments."""

    def __init__(self) -> None:
        self._runner = PosixProcessRunner(run_id="t", base_environment=os.environ)
        self.started: list[tuple[str, ...]] = []

    async def run(self, command: Command, **options: Any) -> Exit:
        self.started.append(command.argv)
        return await self._runner.run(command, **options)


class Machine:
    """A worker's machine. Its shifts are done by a function of the test, in the clone."""

    def __init__(
        self,
        folder: Path,
        remote: Path | str,
        name: str,
        *,
        pack: Pack = copy_state,
        unpack: Pack = copy_state,
        repositories: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.runner = CountingRunner()
        self.home = folder / f"machine {name}"
        self.address = str(remote)
        self.seats = GitSeats(
            self.home, worker=name, runner=self.runner, pack=pack, unpack=unpack, repositories=repositories
        )

    def job(self, job_id: str = "j1", *, task: str = "", base: str = "") -> JobSpec:
        return JobSpec(id=job_id, repository=self.address, task=task, base=base, command=("run",))

    def seat(self, job: JobSpec | None = None) -> GitSeat:
        return self.seats.of(job or self.job())

    async def sit(self, job: JobSpec | None = None) -> tuple[GitSeat, Found]:
        seat = self.seat(job)
        found = await seat.open()
        await seat.take()
        return seat, found


def end_of(turn: int, **more: Any) -> ShiftEnd:
    return ShiftEnd(turn=turn, run_id="r", want="session", **more)


def task_of(machine: Machine) -> JobSpec:
    return machine.job(task="{}", base="main")


def hook(remote: Path, name: str, script: str) -> None:
    """A hook of the remote, as servers have them."""
    file = remote / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
