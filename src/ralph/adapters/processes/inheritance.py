"""What a process passes on to those that it forks, and whoever runs as the same user can change from outside.

An agent may set limits for what becomes the next check, or for what forks that: a check that cannot write a file, say, may pass.
"""

from __future__ import annotations

import os
from collections.abc import Hashable

from ralph.adapters.processes.open_files import usual_limit

_LIMITS = range(16)
"""All that Linux has, by number."""


def inherits_as_ours(pid: int) -> bool:
    """Whether it has what a process that we started now would have. Linux only."""
    from resource import RLIMIT_NOFILE, prlimit

    try:
        limits = [prlimit(pid, each) for each in _LIMITS]
        own = [prlimit(0, each) for each in _LIMITS]
        own[RLIMIT_NOFILE] = usual_limit() or own[RLIMIT_NOFILE]
        return limits == own and _other(pid) == _other(os.getpid())
    except OSError:  # it is gone
        return False


def _other(pid: int) -> Hashable:
    with open(f"/proc/{pid}/oom_score_adj", "rb") as score, open(f"/proc/{pid}/cgroup", "rb") as group:  # noqa: PTH123
        files = score.read(), group.read()
    priority = os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
    return files, priority, frozenset(os.sched_getaffinity(pid))
