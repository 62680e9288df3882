"""CPU from the start of ralph to its answer, or to the agent's exec, as a multiple of a bare Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from socket import socketpair
from statistics import median

from bench.child import LONGEST, CannotMeasure, interleaved
from bench.project import Project, new_project
from bench.row import Bar, Row, as_ratio
from ralph.adapters.processes.watcher_program import watcher_programs

ROUNDS = 15

# First the agent notes what ralph has used so far, in nanoseconds, over all its threads. Between the two is the watcher.
NOTES_RALPH = """pid=$PPID total=0
while grep -q watcher_main /proc/$pid/cmdline; do
    read -r _ _ _ pid _ < /proc/$pid/stat
done
for file in /proc/$pid/task/*/schedstat; do
    read -r used waited slices < "$file"
    total=$((total + used))
done
echo $total > {note}
echo working"""


def measure(folder: Path, *, rounds: int = ROUNDS) -> list[Row]:
    if sys.platform != "linux":
        message = "the CPU that ralph has used when the agent starts can only be read on Linux"
        raise CannotMeasure(message)
    with new_project(folder, "startup") as project:
        note = folder / "startup.note"
        project.program("agent", NOTES_RALPH.format(note=note))
        project.settings(agent={"command": "agent"}, guardrails=[{"command": "true"}])
        measures: dict[str, Callable[[], float]] = {
            "python": lambda: project.python("pass").cpu,
            "version": lambda: project.ralph("--version").cpu,
            "help": lambda: project.ralph("--help").cpu,
            "exec": lambda: _until_exec(project, note),
            "watcher": lambda: _watcher(project),
        }
        found = {name: 1000 * median(costs) for name, costs in interleaved(measures, rounds=rounds).items()}
    python = found["python"]
    return [
        as_ratio("ralph --version", found["version"], "ms", python, Bar(1.6)),
        as_ratio("ralph --help", found["help"], "ms", python, Bar(3)),
        as_ratio("ralph run, until the agent's exec", found["exec"], "ms", python, Bar(7)),
        as_ratio("its watcher", found["watcher"], "ms", python),
    ]


def _until_exec(project: Project, note: Path) -> float:
    project.ralph_run(1)
    return int(note.read_text()) / 1e9


def _watcher(project: Project) -> float:
    """As ``start_watcher`` starts it; the byte says that ralph has left, so it ends at once."""
    ours, theirs = socketpair()
    with ours, theirs:
        ours.send(b"b")
        before = getrusage(RUSAGE_CHILDREN)
        watcher_programs()[0].start(["bench"], theirs.fileno()).wait(LONGEST)
        after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
