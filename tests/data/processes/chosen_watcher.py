"""``start_watcher``, with the program that the test asks for: both must do the same."""

import os

from ralph.adapters.processes import watcher
from ralph.adapters.processes.watcher_program import compiled_watcher, python_watcher


def start_watcher(run_id: str) -> watcher.Watcher:
    chosen = {"in Python": python_watcher, "compiled": compiled_watcher}.get(
        os.environ.get("CHOSEN_WATCHER", "")
    )
    program = chosen() if chosen is not None else None
    return watcher.start_watcher(run_id, (program,) if program is not None else ())
