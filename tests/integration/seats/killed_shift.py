"""A worker that is killed before the given step of its save: the number of the program that it would start next."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.integration.seats.machines import Machine, end_of, git

from ralph.engine.ports import Command, Exit


async def main(folder: Path, remote: Path, job: str, step: int) -> None:
    machine = Machine(folder, remote, "one")
    seat, found = await machine.sit(machine.job(job))
    (found.project / "a.txt").write_text("killed")
    git(found.project, "commit", "-qam", "killed")
    (found.project / "new").write_text("new")
    left = step
    run = machine.runner.run

    async def counted(command: Command, **options: Any) -> Exit:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        ended = await run(command, **options)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return ended

    machine.runner.run = counted  # type: ignore[method-assign]
    await seat.save(end_of(2))


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
