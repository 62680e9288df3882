"""``start_watcher``, with the program that the test asks for: both must do the same."""

import os

from ralph.adapters.processes import watcher
from ralph.adapters.processes.watcher_program import python_watcher


def start_watcher(run_id: str) -> watcher.Watcher:
    is_python = os.environ.get("CHOSEN_WATCHER") == "in Python"
    return watcher.start_watcher(run_id, (python_watcher(),) if is_python else ())
