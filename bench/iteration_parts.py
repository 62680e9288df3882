"""Where the time of an iteration goes: its processes and its record, each alone. Prints milliseconds as JSON."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from statistics import median

from ralph.adapters.processes.process_table import this_process
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.watcher import start_watcher
from ralph.adapters.shell import shell_argv
from ralph.adapters.storage.database import open_state_database
from ralph.adapters.storage.journal import SqliteJournal
from ralph.domain.agent.events import Text
from ralph.domain.loop.events import AgentActed, IterationEnded, IterationStarted
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.sandbox.own_git import ENVIRONMENT, NOT_OWN, own_git
from ralph.engine.ports import Command

TIMES = 150


async def main(folder: Path) -> dict[str, float]:
    agent, guardrail = ("/bin/echo", "working"), tuple(shell_argv("true"))
    watcher = start_watcher("bench")
    runner = PosixProcessRunner(run_id="bench", base_environment=os.environ, watcher=watcher)
    direct = PosixProcessRunner(run_id="bench", base_environment=os.environ)

    async def bare_spawns() -> None:
        for argv in (agent, guardrail):
            # The baseline of the runner: the bare call, blocking as a shell would.
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)  # noqa: ASYNC221

    async def runs(by: PosixProcessRunner) -> None:
        for argv in (agent, guardrail):
            await by.run(Command(argv, folder), on_lines=_ignore, log=folder / "bench.log")

    state_folder = folder / ".ralph"
    with (
        watcher,
        closing(open_state_database(state_folder)) as database,
        SqliteJournal(state_folder, database, "bench", owner=this_process(), now=time.time()) as journal,
    ):
        numbers = itertools.count(1)
        options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames")
        asked = own_git("status", *options, "--", *NOT_OWN)
        variables = {**os.environ, **ENVIRONMENT}
        journal.begin(profile="basic", agent="plain", root=folder, options={})

        async def record() -> None:
            """The files and events of an iteration. It ends in the durable commit with which the next one begins."""
            state, number = LoopState(), next(numbers)
            journal.open_session("Do the work.", iteration=number, attempt=1)
            started = IterationStarted(iteration=number, attempt=1, maximum=None, assignment="prompt")
            journal.append(started, at=time.time())
            journal.commit(state)
            journal.append(AgentActed((Text("working\n"),)), at=time.time())
            ended = IterationEnded(
                iteration=number,
                attempt=1,
                decision="continue",
                reason="no claim of completion",
                claimed=False,
                proven=True,
                spend=Spend(),
                seconds=0.0,
            )
            journal.append(ended, at=time.time())

        async def status() -> None:
            # As bare as the spawns: what ralph's own git does in it, whoever starts it.
            subprocess.run(asked, cwd=folder, env=variables, capture_output=True, check=True)  # noqa: ASYNC221

        works: dict[str, Callable[[], Awaitable[None]]] = {
            "bare spawns": bare_spawns,
            "runner": lambda: runs(runner),
            "runner without keepers": lambda: runs(direct),
            "journal": record,
            "git": status,
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(TIMES):
            for name, work in works.items():
                began = time.perf_counter()
                await work()
                times[name].append(time.perf_counter() - began)
    return {name: 1000 * median(taken) for name, taken in times.items()}


def _ignore(lines: list[bytes]) -> None:
    """Lines are split and ignored."""


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
