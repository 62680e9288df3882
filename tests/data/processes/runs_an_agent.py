"""A small ralph: a watcher, and a runner with one agent. argv: run id, then the agent's command line."""

import asyncio
import os
import sys
from pathlib import Path

from chosen_watcher import start_watcher

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.engine.ports import Command

watcher = start_watcher(sys.argv[1])
runner = PosixProcessRunner(run_id=sys.argv[1], base_environment=os.environ, watcher=watcher)
asyncio.run(runner.run(Command(argv=tuple(sys.argv[2:]), cwd=Path.cwd())))
if "SAY_GOODBYE" in os.environ:
    watcher.close()
