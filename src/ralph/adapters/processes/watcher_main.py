"""The watcher's program: waits for ralph's end, and if it was killed ends what the run left. Standard library only.

Started as ``python -I -S watcher_main.py <run id>`` with the read end of a pipe as standard input. A byte means that
ralph has finished. End of file without one means that it was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

_POLL = 0.02


def end_run_processes(
    run_id: str, *, grace: float = 1.0, within: float = 10.0, spared: list[int] | tuple[int, ...] = ()
) -> list[int]:
    """End every process started with ``RALPH_RUN_ID=run_id``, and their descendants. Returns their pids.

    TERM, ``grace`` seconds, KILL, until none is left or ``within`` seconds are over. Never this process, its
    ancestors, or the ``spared`` and what they started.
    """
    began = time.monotonic()
    found: dict[tuple[int, str], signal.Signals] = {}  # who, and the last signal it got
    clean_looks = 0
    while time.monotonic() - began < within:
        members = _members(run_id, set(found), spared)
        # Twice, because a process in the middle of exec shows no environment.
        clean_looks = 0 if members else clean_looks + 1
        if clean_looks == 2:
            break
        number = signal.SIGTERM if time.monotonic() - began < grace else signal.SIGKILL
        for identity in members:
            if found.get(identity) is not number:
                found[identity] = number
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(identity[0], number)
        time.sleep(_POLL)
    return sorted(pid for pid, _ in found)


def main(run_id: str) -> None:
    # The watcher must survive the end of a terminal or a group: that is when it is needed.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    if not os.read(0, 1):
        end_run_processes(run_id)


def _members(
    run_id: str, known: set[tuple[int, str]], spared: list[int] | tuple[int, ...] = ()
) -> list[tuple[int, str]]:
    """(pid, start time) of the run's living processes."""
    table = _read_proc(run_id) if sys.platform == "linux" else _read_ps(run_id)
    untouchable = {os.getpid()}
    ancestor = os.getppid()
    while ancestor in table and ancestor not in untouchable:
        untouchable.add(ancestor)
        ancestor = table[ancestor][0]
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    waiting = list(spared)
    while waiting:
        pid = waiting.pop()
        if pid not in untouchable:
            untouchable.add(pid)
            waiting += children.get(pid, ())
    members: set[int] = set()
    waiting = [pid for pid, (_, started, is_marked) in table.items() if is_marked or (pid, started) in known]
    while waiting:
        pid = waiting.pop()
        if pid not in members and pid not in untouchable:
            members.add(pid)
            waiting += children.get(pid, ())
    return [(pid, table[pid][1]) for pid in members]


def _read_proc(run_id: str) -> dict[int, tuple[int, str, bool]]:
    """pid → parent, start time, and whether it carries the run's mark; without zombies."""
    mark = f"RALPH_RUN_ID={run_id}".encode()
    table: dict[int, tuple[int, str, bool]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would triple the start-up
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                stat = file.read()
            fields = stat[stat.rfind(b")") + 2 :].split()
            if fields[0] in (b"Z", b"X"):
                continue
            environment = b""
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                environment = file.read()
            is_marked = mark in environment and mark in environment.split(b"\0")
            table[int(name)] = (int(fields[1]), fields[19].decode(), is_marked)
    return table


def _read_ps(run_id: str) -> dict[int, tuple[int, str, bool]]:
    """The same where there is no /proc (macOS): ps prints the environment behind the arguments."""
    import subprocess

    listing = subprocess.run(
        ["/bin/ps", "axeww", "-o", "pid=,ppid=,state=,command="], capture_output=True, check=False
    )
    mark = f"RALPH_RUN_ID={run_id}".encode()
    table: dict[int, tuple[int, str, bool]] = {}
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 3 and not fields[2].startswith(b"Z"):
            table[int(fields[0])] = (int(fields[1]), "", mark in fields[3:])
    return table


if __name__ == "__main__":
    main(sys.argv[1])
