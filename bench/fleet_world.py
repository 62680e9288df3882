"""A fleet on this machine to measure: a server with its database in a file, a git remote, workers as processes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bench.child import CannotMeasure
from bench.project import ralph_program

if TYPE_CHECKING:
    from temporalio.client import Client

    from ralph.adapters.temporal.client import TemporalFleet
    from ralph.domain.fleet.job import JobSpec
    from ralph.domain.fleet.views import JobView

T = TypeVar("T")

LONGEST = 600.0
_SERVER = Path(sys.executable).parent / "temporal"
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid")


@dataclass
class Machine:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def memory(self) -> float:
        """Bytes that are in memory now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024.0 * int(status.partition("VmRSS:")[2].split()[0])

    @property
    def cpu(self) -> float:
        """Seconds, of itself alone."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            message = f"a worker ended: {self.log.read_text()[-1000:]}"
            raise CannotMeasure(message)
        return '"worker_ready"' in self.log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class World:
    folder: Path
    agent: Path
    server: Machine
    address: str
    machines: list[Machine] = field(default_factory=list)

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RALPH_", "TEMPORAL_", "GIT_"))
        }
        return {
            **kept,
            "TEMPORAL_ADDRESS": self.address,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }

    def start_worker(self, name: str, *, slots: int = 1) -> Machine:
        log = self.folder / f"{name}.log"
        home = ("--home", str(self.folder / name))
        argv = (ralph_program(), "fleet", "worker", "--name", name, "--slots", str(slots), *home)
        with log.open("wb") as output:
            process = subprocess.Popen(
                (*argv, "--sandbox", "none", "--json"),
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        machine = Machine(process, log)
        self.machines.append(machine)
        await_that(machine.is_ready, f"{name} is ready")
        return machine

    def leave(self) -> None:
        """All workers, in good order."""
        for machine in self.machines:
            machine.process.terminate()
        for machine in self.machines:
            machine.process.wait(60)
        self.machines.clear()

    def job(self, name: str, iterations: int, *, heartbeat: float = 30.0) -> JobSpec:
        from ralph.domain.fleet.job import JobSpec

        command = ("run", "-p", "Do the work.", "-m", str(iterations), "--agent", str(self.agent))
        return JobSpec(
            id=name, repository=str(self.remote), base="main", command=command, heartbeat=heartbeat
        )

    def ask(self, question: Callable[[TemporalFleet], Awaitable[T]]) -> T:
        from ralph.adapters.temporal.client import TemporalFleet

        async def ask(client: Client) -> T:
            return await question(TemporalFleet(client))

        return self.ask_server(ask)

    def ask_server(self, question: Callable[[Client], Awaitable[T]]) -> T:
        from ralph.adapters.temporal.connection import connect

        async def ask() -> T:
            return await question(await connect(self.environment))

        return asyncio.run(ask())

    def await_ends(self, jobs: Sequence[str]) -> float:
        """The time from the first submission to the last end, in seconds, by the server's clock."""

        chosen: list[JobView] = []

        def all_ended() -> bool:
            """The list is a moment behind: one that was just submitted may not be in it."""
            views = self.ask(lambda fleet: fleet.jobs(limit=1_000))
            chosen[:] = [view for view in views if view.spec.id in jobs]
            return len(chosen) == len(jobs) and not any(view.is_open for view in chosen)

        await_that(all_ended, "the jobs have ended", every=0.5)
        wrong = [view for view in chosen if view.progress.last.outcome != "exhausted"]
        if wrong:
            message = f"{wrong[0].spec.id} ended otherwise: {wrong[0].progress.reason or wrong[0].problem}"
            raise CannotMeasure(message)
        return max(view.ended_at or 0.0 for view in chosen) - min(view.started_at for view in chosen)


def await_that(look: Callable[[], bool], what: str, *, every: float = 0.05) -> None:
    deadline = time.monotonic() + LONGEST
    while not look():
        if time.monotonic() > deadline:
            message = f"it took too long until {what}"
            raise CannotMeasure(message)
        time.sleep(every)


@contextmanager
def open_world(folder: Path, agent: str) -> Iterator[World]:
    """``agent``: a script of sh."""
    folder.mkdir()
    if not _SERVER.exists():
        message = "there is no program `temporal`: install the extra `fleet`"
        raise CannotMeasure(message)
    program = folder / "agent"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{agent}\n")
    program.chmod(0o755)
    for name, text in {
        "ralph/settings.json": json.dumps({"agent": {"command": str(program)}}),
        "git/config": "[user]\n\tname = bench\n\temail = bench@example.invalid\n",
    }.items():
        file = folder / "config" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    _make_remote(folder)
    port = _free_port()
    log = folder / "server.log"
    argv = (str(_SERVER), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port))
    with log.open("wb") as output:
        server = subprocess.Popen(
            (*argv, "--db-filename", str(folder / "temporal.db"), "--log-level", "error"),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
    world = World(folder, program, Machine(server, log), f"127.0.0.1:{port}")
    try:
        await_that(lambda: _answers(world), "the server answers", every=0.2)
        yield world
    finally:
        for machine in (*world.machines, world.server):
            machine.kill()


def _make_remote(folder: Path) -> None:
    seed = folder / "seed"
    for argv in (
        ("git", "init", "-q", "--bare", "-b", "main", str(folder / "remote.git")),
        ("git", "init", "-q", "-b", "main", str(seed)),
        (*_GIT, "-C", str(seed), "commit", "-q", "--allow-empty", "-m", "Begin"),
        ("git", "-C", str(seed), "push", "-q", str(folder / "remote.git"), "main"),
    ):
        subprocess.run(argv, check=True, timeout=30)


def _answers(world: World) -> bool:
    from ralph.errors import RalphError

    try:
        world.ask(lambda fleet: fleet.limits())
    except RalphError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
