"""Which process this is, told from all others that ever had its pid."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.processes.process_table import LINUX, read_process
from ralph.domain.holder import Owner


def this_process() -> Owner:
    """Asked anew each time: after a fork it is another one."""
    pid = os.getpid()
    return Owner(
        pid=pid, process_started=started_of(pid) or "unknown", boot_id=_boot_id(), host=os.uname().nodename
    )


def started_of(pid: int) -> str | None:
    """When the process that has this pid now was started; None if there is none. A zombie is gone."""
    process = read_process(pid) if pid > 0 else None
    if process is None or process.is_zombie:
        return None
    return f"{process.started:.6f}".rstrip("0").rstrip(".")


def _boot_id() -> str:
    """Linux counts a process's start from the boot; elsewhere it is a date, which needs no boot to be told by."""
    if not LINUX:
        return ""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
