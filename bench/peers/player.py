"""``python player.py``: run one harness to its end, with all that it starts, and say what that took.

A program of its own, standard library only: it adopts whatever the harness leaves behind, so that the CPU of every process
is counted and none of them stays. A job comes by standard input, the answer goes to standard output; both are JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_SECONDS = 0.02
GRACE_SECONDS = 2.0
"""For what the harness started to end by itself; whatever is alive then was left behind."""


class Memory:
    """What the harness and all that it starts hold at once, the agent left out.

    Each process counts with its own high-water mark (VmHWM), which no sample can miss, less what was counted already: memory
    that it shares with a fork, and the files of a program of which several run. It counts from its second sample on: between
    fork and exec a child is its parent once more.
    """

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.tree = 0
        self.largest = 0
        self.seen: set[int] = set()

    def sample(self) -> None:
        found: dict[int, Held] = {}
        for pid in descendants():
            with suppress(OSError, ValueError, KeyError):
                held = Held(Path(f"/proc/{pid}"))
                if held.program != self.agent:
                    found[pid] = held
        counted = sorted(
            (held for pid, held in found.items() if pid in self.seen), key=lambda held: -held.peak
        )
        programs: set[str] = set()
        total = 0
        for held in counted:
            total += held.peak - held.forked - (held.files if held.program in programs else 0)
            programs.add(held.program)
        self.tree = max(self.tree, total)
        self.largest = max([self.largest, *(held.peak for held in counted)])
        self.seen = set(found)


class Held:
    """What one process holds, in bytes. Raises KeyError if it has ended."""

    def __init__(self, entry: Path) -> None:
        self.program = str((entry / "exe").readlink())
        status = _fields(entry / "status")
        self.peak = status["VmHWM"]
        self.files = status["RssFile"]
        self.forked = max(0, status["RssAnon"] - _fields(entry / "smaps_rollup")["Pss_Anon"])


def _fields(file: Path) -> dict[str, int]:
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0].removesuffix(":"): 1024 * int(words[1]) for words in lines if words[-1] == "kB"}


def descendants() -> list[int]:
    """All of them that are alive: this process adopts those that lose their parent."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError):
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    children.setdefault(int(parent), []).append(int(entry.name))
    found = list(children.get(os.getpid(), ()))
    for pid in found:
        found += children.get(pid, ())
    return found


class Account:
    """The CPU of all that runs while it is open, less our own: by a control group, where one can be made (it takes root).

    Elsewhere the CPU of processes that nobody has waited for is missing.
    """

    def __enter__(self) -> Self:
        self._own = _seconds(resource.RUSAGE_SELF)
        self._group: Path | None = None
        with suppress(OSError, StopIteration):
            mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
            top = Path(next(words[1] for words in mounts if words[2] == "cgroup2"))
            lines = Path("/proc/self/cgroup").read_text().splitlines()
            self._before = top / next(line[4:] for line in lines if line.startswith("0::/"))
            group = top / f"ralph-bench-{os.getpid()}"
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            self._group = group
        return self

    def __exit__(self, *_: object) -> None:
        if self._group is not None:
            (self._before / "cgroup.procs").write_text(str(os.getpid()))
            self._group.rmdir()

    def seconds(self) -> float:
        if self._group is None:
            return _seconds(resource.RUSAGE_CHILDREN)
        (used,) = (
            line.split()[1]
            for line in (self._group / "cpu.stat").read_text().splitlines()
            if line.startswith("usage_usec")
        )
        return int(used) / 1e6 - (_seconds(resource.RUSAGE_SELF) - self._own)


def _seconds(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def play(job: dict[str, Any], account: Account) -> dict[str, Any]:
    memory = Memory(job["agent"]) if job["isSampled"] else None
    with Path(job["output"]).open("wb") as output:
        began = time.monotonic_ns()
        process = subprocess.Popen(
            job["argv"],
            cwd=job["cwd"],
            env=job["environment"],
            stdin=subprocess.DEVNULL,
            stdout=output if job["isSampled"] else subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,
        )
    try:
        is_over = _wait(process.pid, job["seconds"], memory)
        ended = time.monotonic_ns()
        if not is_over:
            process.kill()
        process.wait()
        left = clear(GRACE_SECONDS)
    except BaseException:
        process.kill()
        clear(0.0)  # at once: whoever stops us does not wait
        raise
    return {
        "began": began,
        "ended": ended,
        "cpu": account.seconds(),
        "code": process.returncode if is_over else None,
        "left": left,
        "tree": memory.tree if memory else 0,
        "largest": memory.largest if memory else 0,
    }


def _wait(pid: int, seconds: float, memory: Memory | None) -> bool:
    """Whether it ended in time. Not ``Popen.wait``, which looks only now and then."""
    deadline = time.monotonic() + seconds
    descriptor = os.pidfd_open(pid)
    ending = select.poll()
    ending.register(descriptor, select.POLLIN)
    try:
        while (remaining := deadline - time.monotonic()) > 0:
            if ending.poll(1000 * (SAMPLE_SECONDS if memory else remaining)):
                return True
            if memory:
                memory.sample()
        return False
    finally:
        os.close(descriptor)


def clear(seconds: float) -> list[str]:
    """Waits for what is still there, ends what does not go, and says what that was."""
    deadline = time.monotonic() + seconds
    while _reap() and time.monotonic() < deadline:
        time.sleep(0.005)
    left: dict[int, str] = {}
    while _reap():
        for pid in descendants():
            with suppress(OSError):
                left.setdefault(pid, Path(f"/proc/{pid}/comm").read_text().strip())
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return sorted(left.values())


def _reap() -> bool:
    """Whether any child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _stop)
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("this system does not let a process adopt others")
    with Account() as opened:
        print(json.dumps(play(json.load(sys.stdin), opened)))
