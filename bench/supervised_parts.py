"""The first launch of the measured agent: starts processes and registers each as a child run."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.child_runs import registered_child
from ralph.domain.holder import Owner


def main(number: int) -> None:
    here = this_process()
    pids: list[int] = []
    stack = ExitStack()
    for count in range(number):
        process = subprocess.Popen(
            ["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        pids.append(process.pid)
        owner = Owner(process.pid, started_of(process.pid) or "", here.boot_id, here.host)
        stack.enter_context(registered_child(os.environ, f"child-{count}", owner))
    Path("pids").write_text("".join(f"{pid}\n" for pid in pids))
    os._exit(0)  # the registrations stay, like those of children that are still running


if __name__ == "__main__":
    main(int(sys.argv[1]))
