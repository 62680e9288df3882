"""A small ralph of several runs: one watcher for them all. argv: a run, a part of it that goes on, one that has ended."""

import contextlib
import signal
import sys

from chosen_watcher import start_watcher

whole, part, ended = sys.argv[1:]
with contextlib.ExitStack() as stack:
    watcher = stack.enter_context(start_watcher(whole))
    assert stack.enter_context(watcher.shared_by(part)) is watcher
    with watcher.shared_by(ended):
        pass
    print(watcher.pid, flush=True)
    signal.pause()
