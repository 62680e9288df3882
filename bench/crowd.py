"""How many loops one machine holds: `ralph work -j 200` whose agents wait, and 50 loops whose agents stream at once.

What the agents themselves need is not counted, nor the time that git needs for a worktree per task.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.child import CannotMeasure
from bench.project import Project, new_project, ralph_program
from bench.row import Bar, Row, Sense, as_difference, as_ratio
from bench.stream_data import MEGABYTE, write_stream

WAITING = 200
STREAMING = 50
LONGEST = 300.0
"""Seconds for all loops to begin: a worktree and a run each."""
IDLE_SECONDS = 20.0
STREAM_SECONDS = 10.0

WAITS = "cat > /dev/null; touch {up}/$RALPH_TASK_ID; exec sleep 1000"
STREAMS = """cat > /dev/null
touch {up}/$RALPH_TASK_ID
while [ ! -e {go} ]; do sleep 0.2; done
while :; do cat {stream}; done"""


def measure(folder: Path) -> list[Row]:
    with new_project(folder, "crowd-waiting") as project:
        waiting = _waiting(project)
    with new_project(folder, "crowd-streaming") as project:
        taken = _streaming(project)
    kilobytes = waiting["bytes"] / WAITING / 1000
    return [
        as_difference(
            f"{WAITING} loops whose agents wait: memory of each", kilobytes / 1000, "MB", 0.0, Bar(3.0)
        ),
        as_difference("of that: ralph itself", waiting["ralph"] / WAITING / MEGABYTE, "MB", 0.0),
        as_difference("of that: its watcher and keepers", waiting["others"] / WAITING / MEGABYTE, "MB", 0.0),
        as_difference(
            f"{WAITING} loops whose agents wait: CPU of each",
            100 * waiting["cpu"] / WAITING,
            "%",
            0.0,
            Bar(0.1),
        ),
        as_difference("open files of each loop", waiting["files"] / WAITING, "files", 0.0),
        as_difference(
            "until all are there, each; most of it is git", waiting["began"] / WAITING * 1000, "ms", 0.0
        ),
        as_ratio(
            f"{STREAMING} loops that stream at once: the slowest; baseline: the median",
            min(taken) / MEGABYTE,
            "MB",
            median(taken) / MEGABYTE,
            Bar(0.5, Sense.AT_LEAST),
        ),
        as_difference("of all together, per second", sum(taken) / STREAM_SECONDS / MEGABYTE, "MB", 0.0),
    ]


# --- loops that wait ---


def _waiting(project: Project) -> dict[str, float]:
    up = _prepare(project, WAITING, WAITS)
    began = time.monotonic()
    with _working(project, WAITING) as process:
        _wait(lambda: _count(up) >= WAITING, process)
        taken = time.monotonic() - began
        time.sleep(2.0)  # what follows a start is over
        own = _own_processes(process.pid)
        before = sum(map(_cpu_of, own))
        time.sleep(IDLE_SECONDS)
        cpu = (sum(map(_cpu_of, own)) - before) / IDLE_SECONDS
        memory = {pid: _memory_of(pid) for pid in own}
        files = sum(_count(Path(f"/proc/{pid}/fd")) for pid in own)
    ralph = memory.pop(process.pid)
    others = sum(memory.values())
    return {
        "bytes": ralph + others,
        "ralph": ralph,
        "others": others,
        "cpu": cpu,
        "files": files,
        "began": taken,
    }


# --- loops that stream ---


def _streaming(project: Project) -> list[float]:
    """Bytes that each loop took in."""
    go, stream = project.programs / "go", project.programs / "stream.ndjson"
    write_stream(stream, events=2_000)
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join(lines[1:-1]))  # a session that says that it is over would be ended
    up = _prepare(project, STREAMING, STREAMS, go=go, stream=stream)
    with _working(project, STREAMING) as process:
        _wait(lambda: _count(up) >= STREAMING, process)
        go.touch()
        _wait(lambda: len(_sizes(project)) >= STREAMING and min(_sizes(project).values()) > 0, process)
        before = _sizes(project)
        time.sleep(STREAM_SECONDS)
        after = _sizes(project)
    return [float(after[name] - before[name]) for name in after]


def _sizes(project: Project) -> dict[str, int]:
    return {str(log): log.stat().st_size for log in project.root.glob(".ralph/runs/*/agent_001.ndjson")}


# --- both ---


def _prepare(project: Project, tasks: int, agent: str, **places: Path) -> Path:
    """The folder in which each agent says that it is there."""
    up = project.programs / "up"
    up.mkdir()
    program = project.program("claude", agent.format(up=up, **places))
    project.settings(
        agent={"command": str(program)},
        profiles={"verified": {"stages": ["coder"], "roles": {"coder": {"verification": "string_match"}}}},
    )
    project.begin_repository()
    spec = {"outcome": "it is there", "acceptance_criteria": ["it is there"]}
    file = project.programs / "tasks.json"
    file.write_text(
        json.dumps([{"id": f"T-{number}", "title": "Wait", "completion": spec} for number in range(tasks)])
    )
    project.ralph("task", "add", "-f", str(file))
    return up


@contextmanager
def _working(project: Project, parallel: int) -> Iterator[subprocess.Popen[bytes]]:
    """Ended as with Ctrl-C twice: at once, with everything that it started."""
    with (project.programs / "said").open("wb") as said:
        process = subprocess.Popen(
            [ralph_program(), "work", "-j", str(parallel)],
            cwd=project.root,
            env=project.environment(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        try:
            process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + LONGEST
    while not is_so():
        if process.poll() is not None or time.monotonic() > ends:
            message = f"the loops did not begin ({process.returncode})"
            raise CannotMeasure(message)
        time.sleep(0.1)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def _own_processes(ralph: int) -> list[int]:
    """ralph, and below it whatever is its own Python: the watcher and the keepers."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
        except OSError:
            continue
        parents[int(place.name)] = int(stat.rpartition(")")[2].split()[1])
    below, waiting = [ralph], [ralph]
    while waiting:
        above = waiting.pop()
        found = [pid for pid, parent in parents.items() if parent == above and _is_own(pid)]
        below += found
        waiting += found
    return below


def _is_own(pid: int) -> bool:
    try:
        return b"watcher_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _cpu_of(pid: int) -> float:
    """Seconds so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_of(pid: int) -> float:
    """Bytes; what it shares with others counts in parts."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return 1024.0 * int(line.split()[1])
    return 0.0
