"""A run that continues elsewhere: what it needs next, once everything so far is on record."""

from __future__ import annotations

from enum import StrEnum

from ralph.values import dataclass


class Want(StrEnum):
    """What whoever takes the run over has to provide."""

    SESSION = "session"  #: a place for the next session
    WAIT = "wait"  #: time: a limit resets, a delay passes, something outside happens
    MERGE = "merge"  #: its turn to merge: others want to move the same branch


@dataclass(frozen=True, slots=True)
class Handover:
    """``seconds``: how long to wait first."""

    want: Want
    seconds: float = 0.0
    reason: str = ""
