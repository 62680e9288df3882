"""The demo of the fleet: a server, a repository, two workers and six jobs on this machine; one of the workers is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ralph.adapters.files import real_path
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import start_watcher
from ralph.adapters.trees import remove_tree
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import Phase
from ralph.engine.ports import Command, Running
from ralph.errors import AgentUnavailable, RalphError, ServiceAway, UsageError
from ralph.operations.fleet.demo_repository import PROMPT, STEPS, make_repository
from ralph.values import dataclass, field

if TYPE_CHECKING:
    from ralph.domain.fleet.views import JobView
    from ralph.engine.fleet.ports import Fleet

JOBS = 6
WORKERS = ("demo-1", "demo-2")
SLOTS = 3
HEARTBEAT = 3.0
"""Seconds: with the usual half minute, nobody would want to watch."""
EVERY = 0.5
START_SECONDS = 60.0
LONGEST = 300.0
"""Seconds, after which something is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoLook:
    """``killed``: the worker that is gone; empty: none yet."""

    jobs: tuple[JobView, ...] = ()
    killed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """``moved``: jobs that the killed worker had; ``pause``: seconds until the last of them was worked on again."""

    jobs: tuple[JobView, ...]
    killed: str
    moved: tuple[str, ...]
    pause: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlace:
    """Where everything is, for as long as it is."""

    folder: Path
    address: str


def run_demo(
    *,
    say: Callable[[str], None],
    show: Callable[[DemoLook], None],
    stay: Callable[[DemoPlace, DemoResult], None] | None = None,
) -> DemoResult:
    """``stay``: called when all is over; everything is kept then until a signal comes. Raises RalphError."""
    own = OwnPrograms(os.environ, [Path.cwd()])
    program = _find_server(own)
    if own.find("git") is None:
        message = "the demo needs git"
        raise AgentUnavailable(message, hint="install git, then try again")
    folder = real_path(Path(tempfile.mkdtemp(prefix="ralph-fleet-demo-")))
    try:
        return asyncio.run(_Demo(folder, own, program, say, show).run(stay))
    except asyncio.CancelledError:  # by a signal other than that of Ctrl-C
        raise KeyboardInterrupt from None
    finally:
        with suppress(OSError):
            remove_tree(folder)


@dataclass(slots=True)
class _Demo:
    folder: Path
    own: OwnPrograms
    program: str
    say: Callable[[str], None]
    show: Callable[[DemoLook], None]
    _pids: dict[str, int] = field(default_factory=dict)
    _ended: dict[str, str] = field(default_factory=dict)  # what a process said that ended by itself

    async def run(self, stay: Callable[[DemoPlace, DemoResult], None] | None) -> DemoResult:
        me = asyncio.current_task()
        assert me is not None
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, me.cancel)
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            # Each process has a keeper that ends it and all below it, should this one be killed.
            watcher = stack.enter_context(start_watcher(f"fleet-demo-{os.getpid()}"))
            address = f"127.0.0.1:{_free_port()}"
            runner = PosixProcessRunner(
                run_id=f"fleet-demo-{os.getpid()}",
                base_environment=self._environment(address),
                watcher=watcher,
            )
            tasks = await stack.enter_async_context(_Processes())
            self.say("starting a Temporal server, with its database in a file")
            server = (self.program, "server", "start-dev", "--headless", "--log-level", "error")
            host, _, port = address.partition(":")
            database = ("--db-filename", str(self.folder / "temporal.db"))
            tasks.add(self._keep(runner, "server", (*server, "--ip", host, "--port", port, *database)))
            self.say("making a repository, with a check that every step is there once")
            remote = await make_repository(self.folder, self.own)
            fleet = await self._connect(address)
            self.say(f"starting two workers, with {SLOTS} places each")
            for name in WORKERS:
                tasks.add(self._keep(runner, name, self._worker(name)))
            # They are there before the first job is: nobody watches jobs that nothing can happen to yet.
            while len(await fleet.workers()) < len(WORKERS):
                self._require_alive("")
                _require_time(began)
                await asyncio.sleep(EVERY)
            self.say(f"submitting {JOBS} jobs of {STEPS} steps each")
            for number in range(1, JOBS + 1):
                await fleet.submit(_job(number, remote))
            result = await self._watch(fleet, began)
            if stay is not None:
                stay(DemoPlace(folder=self.folder, address=address), result)
                with suppress(asyncio.CancelledError):  # by a signal, which is how one leaves
                    await asyncio.Event().wait()
            return result

    async def _watch(self, fleet: Fleet, began: float) -> DemoResult:
        """Until all have ended; kills a worker in between, when it is in the middle of something."""
        killed, killed_at, turns, back = "", 0.0, dict[str, int](), dict[str, float]()
        while True:
            jobs = tuple(sorted(await fleet.jobs(limit=2 * JOBS), key=lambda job: job.spec.id))
            now = time.monotonic()
            if not killed and (victim := _victim(jobs)):
                killed, killed_at = victim, now
                turns = {
                    job.spec.id: job.progress.turn
                    for job in jobs
                    if job.progress.worker == victim and job.progress.phase is Phase.RUNNING
                }
                os.kill(self._pids[victim], signal.SIGKILL)
                self.say(f"kill -9: {victim} is gone, in the middle of {', '.join(turns)}")
                self.say(
                    f"the server misses its signs of life after {HEARTBEAT:.0f} seconds, then another worker takes over"
                )
            for job in jobs:
                if job.spec.id in turns and _is_back(job, killed, turns[job.spec.id]):
                    if job.spec.id not in back:
                        self.say(f"{job.spec.id} continues on {job.progress.worker}")
                    back.setdefault(job.spec.id, now - killed_at)
            self.show(DemoLook(jobs=jobs, killed=killed, seconds=now - began))
            if len(jobs) == JOBS and not any(job.is_open for job in jobs):
                pause = max(back.values(), default=0.0)
                return DemoResult(
                    jobs=jobs, killed=killed, moved=tuple(turns), pause=pause, seconds=now - began
                )
            self._require_alive(killed)
            _require_time(began)
            await asyncio.sleep(EVERY)

    def _require_alive(self, killed: str) -> None:
        for name, said in self._ended.items():
            if name != killed:
                message = f"the demo's {name} has ended: {said or 'it said nothing'}"
                raise RalphError(message, hint="try again; if it happens again, please report it")

    async def _connect(self, address: str) -> Fleet:
        from ralph.adapters.temporal.client import TemporalFleet
        from ralph.adapters.temporal.connection import connect

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return TemporalFleet(await connect(self._environment(address)))
            except ServiceAway:
                self._require_alive("")
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.2)

    async def _keep(self, runner: PosixProcessRunner, name: str, argv: Sequence[str]) -> None:
        """Until it ends, or we do: then it is ended, with all below it."""
        said: list[str] = []

        def started(running: Running) -> None:
            self._pids[name] = running.pid

        def hear(lines: list[bytes]) -> None:
            said[:] = [*said, *(line.decode(errors="replace") for line in lines)][-5:]

        command = Command(tuple(argv), self.folder, merge_stderr=True)
        exited = await runner.run(command, on_start=started, on_lines=hear)
        self._ended[name] = exited.error or " / ".join(said)

    def _worker(self, name: str) -> tuple[str, ...]:
        ralph = (sys.executable, "-P", "-m", "ralph", "fleet", "worker")
        home = ("--home", str(self.folder / name))
        # The agent is ours, and does nothing but add lines to a file.
        return (*ralph, "--name", name, "--slots", str(SLOTS), *home, "--sandbox", "none")

    def _environment(self, address: str) -> dict[str, str]:
        """Whatever settings and server the user has, the demo has its own."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TEMPORAL_", "RALPH_", "GIT_"))
        }
        return {
            **kept,
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_NAMESPACE": "default",
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
        }


class _Processes:
    """Ended, all of them, when the demo is over, however that comes about."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, process: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(process))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _require_time(began: float) -> None:
    if time.monotonic() - began > LONGEST:
        message = f"the demo has not ended after {LONGEST:.0f} seconds"
        raise RalphError(message, hint="is this machine very busy? try again, or report it")


def _victim(jobs: Sequence[JobView]) -> str:
    """A worker with several sessions under way, once each of its jobs has done something."""
    for worker in WORKERS:
        its = [job for job in jobs if job.progress.worker == worker and job.progress.phase is Phase.RUNNING]
        if len(its) >= 2 and all(job.progress.turn for job in its):
            return worker
    return ""


def _is_back(job: JobView, killed: str, turn: int) -> bool:
    progress = job.progress
    is_elsewhere = progress.worker not in ("", killed) and progress.phase is Phase.RUNNING
    return is_elsewhere or progress.turn > turn or not job.is_open


def _job(number: int, remote: Path) -> JobSpec:
    return JobSpec(
        id=f"job-{number}",
        repository=str(remote),
        base="main",
        command=("run", "-p", PROMPT, "-m", str(2 * STEPS)),
        title=f"write {STEPS} steps",
        heartbeat=HEARTBEAT,
        submitted_by="ralph fleet demo",
        submitted_at=time.time(),
    )


def _find_server(own: OwnPrograms) -> str:
    """Where the extra has put it, beside the Python that runs us; or on PATH."""
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.exists() else own.find("temporal")
    if found is None:
        message = "the demo needs Temporal's server, a program named `temporal`"
        raise UsageError(message, hint="install ralph with its extra `fleet`, which has it")
    return found


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
