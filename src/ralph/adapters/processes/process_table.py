"""What the system says about processes, this one included: /proc on Linux, psutil elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ralph.domain.holder import Owner
from ralph.values import dataclass, replace

LINUX = sys.platform == "linux"
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Process:
    """``started``, in the system's unit, tells apart two processes that had the same pid."""

    pid: int
    parent: int
    group: int
    session: int
    started: float
    is_zombie: bool

    @property
    def identity(self) -> tuple[int, float]:
        return self.pid, self.started


def read_table(pids: Iterable[int] | None = None) -> dict[int, Process]:
    """All processes, or those of ``pids`` that exist."""
    found = (read_process(pid) for pid in (all_pids() if pids is None else pids))
    return {process.pid: process for process in found if process is not None}


def all_pids() -> list[int]:
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - ten times faster
    import psutil

    return psutil.pids()


def read_process(pid: int) -> Process | None:
    if not LINUX:
        return _read_with_psutil(pid)
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    # The name in parentheses may itself hold parentheses: count from the last one.
    fields = stat[stat.rfind(b")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=float(fields[19]),
        # With other threads it is none: they go on without their first one.
        is_zombie=fields[0] in (b"Z", b"X") and int(fields[17]) <= 1,
    )


def variable(pid: int, name: str) -> str | None:
    """The value in the environment that the process was started with; None if it has none or we may not look."""
    if LINUX:
        prefix = f"{name}=".encode()
        for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode("utf-8", "replace")
        return None
    import psutil

    try:
        return psutil.Process(pid).environ().get(name)
    except (psutil.Error, OSError):
        return None


def is_being_replaced(pid: int) -> bool:
    """In the middle of an exec: then a process shows neither environment nor command line."""
    return LINUX and not _read(f"/proc/{pid}/environ") and not _read(f"/proc/{pid}/cmdline")


def describe(pid: int) -> str:
    """Its command line, shortened."""
    if LINUX:
        text = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        text = text or _read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()
    else:
        import psutil

        text = ""
        with contextlib.suppress(psutil.Error, OSError):
            text = " ".join(psutil.Process(pid).cmdline())
    text = " ".join(text.split()) or "unknown"
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"{shown} (pid {pid})"


def own_children() -> list[int] | None:
    """The children of this process, of all its threads; None where the system has no such list."""
    if not LINUX:
        return None
    children: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208
            children += map(int, _read_whole(f"/proc/self/task/{thread}/children").split())
    except OSError:  # the kernel was built without it
        return None
    return children


def newest_pid() -> int:
    """The pid given out last; 0 if unknown."""
    try:
        return int(_read("/proc/loadavg").split()[-1])
    except (IndexError, ValueError):
        return 0


def _read(path: str) -> bytes:
    """A whole /proc file; empty if the process has ended or is not ours."""
    try:
        return _read_whole(path)
    except OSError:
        return b""


def _read_whole(path: str) -> bytes:
    """Plain calls: a scan makes hundreds."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    pieces: list[bytes] = []
    try:
        while piece := os.read(descriptor, 65536):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def _read_with_psutil(pid: int) -> Process | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return Process(
            pid=pid,
            parent=process.ppid(),
            group=os.getpgid(pid),
            session=os.getsid(pid),
            started=process.create_time(),
            is_zombie=process.status() == psutil.STATUS_ZOMBIE,
        )
    except (psutil.Error, OSError):
        return None


def this_process() -> Owner:
    """Told from all others that ever had its pid. Not cached: a fork makes another one."""
    pid = os.getpid()
    return Owner(pid, started_of(pid) or "unknown", _boot_id(), os.uname().nodename)


def started_of(pid: int) -> str | None:
    """When the process that has this pid now was started; None if there is none, or only a zombie."""
    process = read_process(pid) if pid > 0 else None
    if process is None or process.is_zombie:
        return None
    return f"{process.started:.6f}".rstrip("0").rstrip(".")


def is_ancestor(owner: Owner) -> bool:
    """Whether this process was started by ``owner``, through however many others: whatever its environment says."""
    here = this_process()
    pid = here.pid
    while (process := read_process(pid)) is not None and process.parent > 0:
        pid = process.parent
        if replace(here, pid=pid, process_started=started_of(pid) or "") == owner:
            return True
    return False


def _boot_id() -> str:
    """Linux counts a process's start from the boot; elsewhere it is a date, and needs no boot id."""
    if not LINUX:
        return ""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
