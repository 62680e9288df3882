"""What a sandbox adds to every process: starting `true` in bubblewrap, and without."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from statistics import median

from bench.child import CannotMeasure
from bench.row import Bar, Row, as_difference
from ralph.adapters.isolation.bwrap import BwrapSandbox, trouble
from ralph.adapters.isolation.runner import IsolatedRunner, keep_open
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.sandbox.allow_list import parse_rule
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.engine.ports import Command, ProcessRunner

ROUNDS = 30
A_FEW_TENS = Bar(50)


def measure(folder: Path) -> list[Row]:
    workspace = folder / "isolation"
    home = folder / "isolation home"
    (workspace / ".ralph").mkdir(parents=True)
    home.mkdir()
    environ = {**os.environ, "HOME": str(home)}
    return asyncio.run(_measure(Site(workspace, workspace / ".ralph", ("claude",), "bench", environ)))


async def _measure(site: Site) -> list[Row]:
    bare = PosixProcessRunner(run_id="bench", base_environment=site.environ)
    if why := await trouble(site, bare):
        raise CannotMeasure(why)
    off = SandboxPolicy(network=Network.OFF)
    listed = SandboxPolicy(allow=(parse_rule("example.com"),))
    async with (
        keep_open(BwrapSandbox(site, off), bare) as without_network,
        keep_open(BwrapSandbox(site, listed), bare) as with_list,
    ):
        runners: dict[str, ProcessRunner] = {
            "bare": bare,
            "off": IsolatedRunner(bare, without_network),
            "allow": IsolatedRunner(bare, with_list),
        }
        found: dict[str, list[float]] = {name: [] for name in runners}
        for _ in range(ROUNDS):
            for name, runner in runners.items():  # in turn: a busy moment should hit all of them
                found[name].append(await _milliseconds(runner, site.workspace))
    middle = {name: median(times) for name, times in found.items()}
    return [
        as_difference("a process in bwrap, no network", middle["off"], "ms", middle["bare"], A_FEW_TENS),
        as_difference("a process in bwrap, allow-list", middle["allow"], "ms", middle["bare"], A_FEW_TENS),
    ]


async def _milliseconds(runner: ProcessRunner, workspace: Path) -> float:
    began = time.perf_counter()
    exit_ = await runner.run(Command(("true",), workspace))
    if exit_.code != 0:
        message = f"`true` ended with {exit_.code}: {exit_.error}"
        raise CannotMeasure(message)
    return 1000 * (time.perf_counter() - began)
