"""The children of this process: which belong to which spawn, and the orphans it adopts.

Several runs may share one process, each with spawns of its own; so there is one list of live spawns per process, not
one per runner.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from ralph.adapters.processes.process_table import LINUX, Process, own_children, read_process, read_table
from ralph.values import dataclass, field

_PR_SET_CHILD_SUBREAPER = 36

birth_lock = threading.RLock()
"""Held while a child is started and registered: in between it would look like an orphan."""

_numbers = itertools.count(1)


@dataclass(eq=False, slots=True)
class Spawn:
    """One program that was started and has not been reaped yet. ``seen`` are the descendants found so far.

    ``keeper`` is the process that started it and adopts its orphans; 0: we are. ``is_alone``: nothing else is left of it.
    """

    id: str
    pid: int
    born: float
    keeper: int = 0
    is_alone: bool = False
    seen: set[tuple[int, float]] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class _Household:
    """The children of this process."""

    spawns: dict[int, Spawn] = field(default_factory=dict)  # by the pid of their root
    others: set[int] = field(default_factory=set)  # that are not spawns: watchers and keepers
    expected: set[Callable[[], bool]] = field(default_factory=set)  # whose pids nobody has told us yet
    since: float = 0.0  # since when at least one spawn has been alive, on the process table's clock


_household = _Household()


def next_spawn_id(run_id: str) -> str:
    """Unique on this machine, even when a second process has the same run id (a resumed run)."""
    return f"{run_id}.{os.getpid()}-{next(_numbers)}"


def expect_birth() -> None:
    """Call it with the lock held, before starting a child."""
    if not _household.spawns:
        _household.since = _table_time()


def register(spawn: Spawn) -> None:
    with birth_lock:
        _household.spawns[spawn.pid] = spawn


def unregister(spawn: Spawn) -> None:
    with birth_lock:
        _household.spawns.pop(spawn.pid, None)


def register_other(pid: int) -> None:
    """A child that is not a spawn and must be left alone."""
    with birth_lock:
        _household.others.add(pid)


def release_other(pid: int) -> None:
    """It may be reaped with the orphans once it has ended."""
    with birth_lock:
        _household.others.discard(pid)


def expect_other(has_answered: Callable[[], bool]) -> None:
    """``has_answered`` registers it as soon as it has said who it is, and then is True."""
    with birth_lock:
        _household.expected.add(has_answered)


def expect_no_longer(has_answered: Callable[[], bool]) -> None:
    with birth_lock:
        _household.expected.discard(has_answered)


def other_spawns(spawn: Spawn) -> list[Spawn]:
    with birth_lock:
        return [other for other in _household.spawns.values() if other is not spawn]


@functools.cache
def adopt_orphans() -> bool:
    """From now on, descendants whose parents died become our children instead of init's. Linux only."""
    # If SIGCHLD was ignored when ralph started (a script's `trap '' CHLD`), the kernel would discard exit codes.
    is_ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if is_ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not LINUX:
        return False
    import ctypes

    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    result: int = prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3)
    return result == 0


def has_children() -> bool:
    """Is there any child, dead or alive? One system call; True where we cannot tell."""
    if sys.platform != "linux":
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def is_adopted(process: Process) -> bool:
    """A child that we did not start: an orphan.

    A child that other code in this process started shares our session or is registered. An orphan cannot share it: its
    spawn began a session of its own.
    """
    if process.parent != os.getpid() or process.pid in _household.spawns:
        return False
    with birth_lock:  # a keeper whose watcher was killed is ours, too
        _household.expected -= {each for each in _household.expected if each()}
    return process.pid not in _household.others and process.session != os.getsid(0)


def is_known(pid: int) -> bool:
    """A child of ours that is no orphan, for certain. Asks nobody."""
    return pid in _household.spawns or pid in _household.others


def may_be_from_a_spawn(process: Process) -> bool:
    """Started while spawns were alive, and not ours only because we are the init of a container."""
    return process.started >= _household.since and os.getpid() != 1


def reap_orphans() -> None:
    """Take the exit status of adopted orphans, or they would stay as zombies. Never of a spawn."""
    if sys.platform != "linux" or not adopt_orphans():
        return
    with birth_lock:
        while (waitable := _first_waitable()) is not None:
            process = read_process(waitable)
            if process is None or not is_adopted(process):
                break  # not ours to reap, and it hides the ones behind it
            _reap(waitable)
        else:
            return
        children = own_children()
        for process in read_table(children).values():
            if process.is_zombie and is_adopted(process):
                _reap(process.pid)


def _first_waitable() -> int | None:
    if sys.platform != "linux":
        return None
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found is not None else None


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _table_time() -> float:
    if sys.platform != "linux":
        return time.time() - 1
    # Clock ticks since boot, as in /proc; one tick back because they are rounded down.
    return time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") - 1
