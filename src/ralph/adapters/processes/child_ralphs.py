"""Recognises a ``ralph`` that an agent started: it may be a child run that is still starting."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import PurePosixPath

from ralph.adapters.processes.descendants import RUN_VARIABLE
from ralph.adapters.processes.process_table import LINUX, all_pids, read_process, variable

STARTS_RUNS = frozenset({"run", "resume", "supervise", "plan", "work", "demo"})


def runs_a_loop(arguments: Sequence[str]) -> bool:
    """Is this the command line of a ralph that runs an agent? ``ralph status`` and the like do not."""
    if not arguments:
        return False
    # A script runs as `python /path/of/ralph`; in any other place the name may be just a file's.
    first = 2 if PurePosixPath(arguments[0]).name.startswith("python") else 1
    for place, argument in enumerate(arguments[:6]):
        is_module = argument == "ralph" and place > 0 and arguments[place - 1] == "-m"
        if is_module or (place < first and PurePosixPath(argument).name == "ralph"):
            command = arguments[place + 1] if place + 1 < len(arguments) else "run"
            return command in STARTS_RUNS or command.startswith("-")
    return False


def is_child_ralph(pid: int) -> bool:
    return runs_a_loop(_arguments(pid))


def child_ralphs(run_id: str) -> list[int]:
    """The live ones that the agent of this run started, registered as child runs or not."""
    return [
        pid
        for pid in all_pids()
        if is_child_ralph(pid) and variable(pid, RUN_VARIABLE) == run_id and _is_alive(pid)
    ]


def _is_alive(pid: int) -> bool:
    process = read_process(pid)
    return process is not None and not process.is_zombie


def _arguments(pid: int) -> list[str]:
    if LINUX:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - asked for every process there is
                return file.read(4096).decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            return []
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        return list(psutil.Process(pid).cmdline())
    return []
