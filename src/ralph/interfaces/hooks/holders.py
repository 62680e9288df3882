"""Who works on a project: runs of ``ralph``, beside which no loop of a session starts, and the process of this session."""
# Importing pathlib alone would cost a hook a quarter of its start.
# ruff: noqa: PTH118, PTH121, PTH123

from __future__ import annotations

import os
import stat

from ralph.config.project_search import record_place, stranger_in
from ralph.domain.holder import Owner, is_stale
from ralph.interfaces.hooks.places import STATE_FOLDER

SHELLS = frozenset({"sh", "ash", "bash", "dash", "zsh", "fish", "busybox"})
HOLDS = """SELECT workspace, run_id, pid, process_started, boot_id, host FROM claims
    UNION ALL SELECT root, id, pid, process_started, boot_id, host FROM runs WHERE outcome IS NULL AND pid <> 0"""

MOST_STEPS = 20_000_000
"""Instructions of SQLite: a second or so."""


def run_under_way(project: str) -> str | None:
    """The run (or mode) that holds the project; empty if none does, None if that cannot be known."""
    import sqlite3
    from urllib.parse import quote

    home = record_place(project)
    if stranger_in(home, os.environ):
        return None
    database = os.path.join(home, STATE_FOLDER, "ralph.db")
    if not all(map(_is_plain, (database, f"{database}-wal", f"{database}-shm"))):
        return None
    try:
        connection = sqlite3.connect(f"file:{quote(database)}?mode=ro", uri=True, timeout=1)
        connection.set_progress_handler(lambda: 1, MOST_STEPS)
        try:
            rows = connection.execute(HOLDS).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return None
    for workspace, run_id, *process in rows:
        if not isinstance(workspace, str) or not isinstance(process[0], int):
            continue
        owner = Owner(*process)
        silent = (
            _silence(os.path.join(home, STATE_FOLDER, "runs", str(run_id), "elapsed")) if run_id else None
        )
        if _is_same(os.path.join(home, workspace), project) and _is_alive(owner, silent):
            return f"run {run_id}" if run_id else f"process {owner.pid}"
    return ""


def _is_plain(path: str) -> bool:
    """SQLite would wait for a pipe. What is not there is no trap."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return True


def session_process() -> dict[str, object] | None:
    """The program of this session: the nearest process above this one that is no shell. None where it cannot be seen."""
    pid = os.getppid()
    while pid > 1 and (name := _name_of(pid)) in SHELLS:
        pid = _parent_of(pid)
    started = _started_of(pid)
    if pid <= 1 or not name or started is None:
        return None
    return {"pid": pid, "processStarted": started, "bootId": _boot_id(), "host": os.uname().nodename}


def _silence(file: str) -> float | None:
    """Seconds since a run has last written; None if it does not."""
    import time

    try:
        return time.time() - os.lstat(file).st_mtime
    except (OSError, ValueError):
        return None


def _is_alive(owner: Owner, silent: float | None = None) -> bool:
    here = Owner(0, "", _boot_id(), os.uname().nodename)
    if here.boot_id:
        return not is_stale(owner, here=here, started_of=_started_of(owner.pid), silent=silent)
    try:  # no /proc: a process of that number will do
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _fields_of(pid: int) -> list[str]:
    # The name in parentheses may itself hold parentheses: count from the last one.
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _started_of(pid: int) -> str | None:
    fields = _fields_of(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def _parent_of(pid: int) -> int:
    fields = _fields_of(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _name_of(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip()


def _boot_id() -> str:
    return _read("/proc/sys/kernel/random/boot_id").strip()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""
