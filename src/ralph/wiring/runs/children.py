"""The runs that a run's agent starts: which are active, and which processes are theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ralph.adapters.processes.child_ralphs import child_ralphs, is_child_ralph
from ralph.adapters.storage.child_runs import ChildRuns
from ralph.adapters.storage.controls import Controls
from ralph.domain.loop.asks import Ask
from ralph.engine.ports import Control
from ralph.errors import RalphError


def active_children(children: ChildRuns, run_id: str) -> list[str]:
    """Child runs, and those ralphs that the agent started which are still on their way to becoming one."""
    active = children.active()
    registered = {child.owner.pid for child in active}
    starting = [
        f"a ralph that is starting (pid {pid})" for pid in child_ralphs(run_id) if pid not in registered
    ]
    return [*(f"{child.id} (pid {child.owner.pid})" for child in active), *starting]


def spare_children(children: ChildRuns, control: Control) -> Callable[[int], bool]:
    """Which processes the clean-up after a launch leaves alone: children, unless everything is to end at once."""

    def is_spared(pid: int) -> bool:
        if control.stopping_now:
            return False
        try:
            if children.is_child(pid):
                return True
        except RalphError:  # the record cannot be read: what looks like a ralph is still left alone
            pass
        return is_child_ralph(pid)

    return is_spared


def stop_children(children: ChildRuns, database: sqlite3.Connection, path: Path, *, at: float) -> None:
    """Ask each of them to end at once; one that has its record elsewhere cannot be asked."""
    with suppress(RalphError):
        for child in children.active():
            with suppress(RalphError):
                Controls(database, path, child.id).ask(Ask.STOP_NOW, at=at)
