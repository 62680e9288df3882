"""A small ralph that is killed some milliseconds after it began to start its agent. argv: run id, milliseconds."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from chosen_watcher import start_watcher

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.engine.ports import Command

watcher = start_watcher(sys.argv[1])
runner = PosixProcessRunner(run_id=sys.argv[1], base_environment=os.environ, watcher=watcher)
asyncio.run(runner.run(Command(argv=("true",), cwd=Path.cwd())))
if os.fork() == 0:
    time.sleep(float(sys.argv[2]) / 1000)
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)
# Its environment is cleared, so nothing but its keeper knows whose it is.
script = "touch $$; exec env -i sleep 1000"
asyncio.run(runner.run(Command(argv=("sh", "-c", script), cwd=Path.cwd())))
