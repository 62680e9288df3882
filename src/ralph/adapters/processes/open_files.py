"""How many files this process may have open: hundreds of loops need more than the usual limit of 1024."""

from __future__ import annotations

import sys
from contextlib import suppress

_usual: list[tuple[int, int]] = []  # our limits before we raised them


def allow_files(wanted: int) -> None:
    """Raise our own limit, as far as the system lets us.

    On Linux the watcher gets back what it was, and with it all agents and checks, who may count on it. Our own git, and where
    there are no keepers everything, is started by us with the raised limit.
    """
    if sys.platform == "win32":
        return
    from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

    soft, hard = getrlimit(RLIMIT_NOFILE)
    most = wanted if hard == RLIM_INFINITY else min(wanted, hard)
    if soft == RLIM_INFINITY or soft >= most:
        return
    with suppress(OSError, ValueError):
        setrlimit(RLIMIT_NOFILE, (most, hard))
        _usual.append((soft, hard))


def usual_limit() -> tuple[int, int] | None:
    """What the watcher has, if we have raised our own."""
    return _usual[0] if _usual else None


def restore_limits(pid: int) -> None:
    """For a process that we have just started, and that is to have the limits that we had."""
    if sys.platform == "linux" and _usual:
        from resource import RLIMIT_NOFILE, prlimit

        with suppress(OSError):
            prlimit(pid, RLIMIT_NOFILE, _usual[0])
