"""Who holds a workspace. A holder whose process is gone holds nothing."""

from __future__ import annotations

from enum import StrEnum

from ralph.values import dataclass


class Mode(StrEnum):
    """What a holder does there; they exclude each other."""

    PLANNING = "planning"
    EXECUTING = "executing"
    VERIFYING = "verifying"


@dataclass(frozen=True, slots=True)
class Owner:
    """One process, told from all others that ever had its pid."""

    pid: int
    process_started: str
    boot_id: str
    host: str


NOBODY = Owner(pid=2**31 - 1, process_started="", boot_id="", host="")
"""Of a run that came from another record, before a process here takes it up."""


@dataclass(frozen=True, slots=True)
class Hold:
    """``run_id`` is empty if no run holds the workspace, but a mode that was started by hand, or a ``session``."""

    workspace: str
    mode: Mode
    owner: Owner
    since: float
    run_id: str = ""
    session: str = ""  # of Claude Code, with a loop of its own


SILENT = 120.0
"""Seconds. A run gives a sign of life every second, whatever it does."""


def is_stale(owner: Owner, *, here: Owner, started_of: str | None, silent: float | None = None) -> bool:
    """``started_of``: when the process that has the owner's pid now was started; None if there is none. ``silent``: how many
    seconds ago its run gave its last sign of life; None if it gives none.

    What runs on another machine cannot be looked at, so it is believed to be there until it is silent for long. A sign from
    the future is as old: whatever lives stamps its signs with the time of the disk, and a copy keeps those of another machine.
    """
    if owner == NOBODY:
        return True
    if owner.host != here.host:
        return silent is not None and abs(silent) > SILENT
    return owner.boot_id != here.boot_id or owner.process_started != started_of
