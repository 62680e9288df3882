"""A small ralph whose watcher was stopped before most of its runs began: says the watchers' pids. argv: the runs."""

import contextlib
import os
import signal
import sys

from chosen_watcher import start_watcher

whole, *parts = sys.argv[1:]
with contextlib.ExitStack() as stack:
    watcher = stack.enter_context(start_watcher(whole))
    stopped = watcher.pid
    os.kill(stopped, signal.SIGSTOP)
    for part in parts:
        stack.enter_context(watcher.shared_by(part))
    print(stopped, watcher.pid, flush=True)
    signal.pause()
