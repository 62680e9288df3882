"""Does one shift as a worker would, without a server: ``python -m tests.fleet.world.shift_driver PROJECT WORD…``."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.adapters.processes.shift_process import RALPH, ShiftRunner
from ralph.adapters.processes.watcher import start_watcher
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.session_spend import SessionSpend
from ralph.adapters.storage.shift_consoles import keep_console
from ralph.adapters.storage.shift_files import read_end, write_terms
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder


class Stop:
    """A stop that a test asks for."""

    def __init__(self) -> None:
        self.first, self.second = asyncio.Event(), asyncio.Event()

    @property
    def is_now(self) -> bool:
        return self.second.is_set()

    async def requested(self) -> None:
        await self.first.wait()

    async def requested_now(self) -> None:
        await self.second.wait()


async def do_shift(
    project: Path,
    job: JobSpec,
    *,
    turn: int = 0,
    run_id: str = "",
    beat: Callable[[Beat], None] = lambda _: None,
    stop: Stop | None = None,
    program: Sequence[str] = RALPH,
) -> ShiftEnd:
    with start_watcher(f"fleet-{os.getpid()}") as watcher:
        runner = ShiftRunner(
            watcher=watcher,
            environment=os.environ,
            sandbox="none",
            state_folder=".ralph",
            run_folder=run_folder,
            write_terms=write_terms,
            read_end=read_end,
            keep_console=keep_console,
            figures=SessionSpend,
            program=program,
        )
        order = ShiftOrder(job=job, turn=turn)
        return await runner.run(order, project, run_id=run_id, beat=beat, stopping=stop or Stop())


if __name__ == "__main__":
    spec = JobSpec(id="alone", repository="none", command=tuple(sys.argv[2:]))
    print(asyncio.run(do_shift(Path(sys.argv[1]), spec)))
