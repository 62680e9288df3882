"""Who holds a workspace. A holder whose process is gone holds nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class Hold:
    """``run_id`` is empty if no run holds the workspace, but a mode that was started by hand, or a ``session``."""

    workspace: str
    mode: Mode
    owner: Owner
    since: float
    run_id: str = ""
    session: str = ""  # of Claude Code, with a loop of its own


def is_stale(owner: Owner, *, here: Owner, started_of: str | None) -> bool:
    """``started_of``: when the process that has the owner's pid now was started; None if there is none.

    What runs on another machine cannot be looked at, so it is believed to be there.
    """
    if owner.host != here.host:
        return False
    return owner.boot_id != here.boot_id or owner.process_started != started_of
