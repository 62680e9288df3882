"""A small ralph whose program has ended: says its watcher's pid, and waits. argv: run id."""

import asyncio
import os
import sys
from pathlib import Path

from chosen_watcher import start_watcher

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.engine.ports import Command

watcher = start_watcher(sys.argv[1])
runner = PosixProcessRunner(run_id=sys.argv[1], base_environment=os.environ, watcher=watcher)
asyncio.run(runner.run(Command(argv=("true",), cwd=Path.cwd())))
print(watcher.pid, flush=True)
sys.stdin.read()
