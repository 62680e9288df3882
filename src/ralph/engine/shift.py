"""A shift: how much of a run one process does before it hands the run over. Most runs are one shift that does not end.

The loop asks before each session and each wait, and ``ralph work`` before each merge; whoever gave a shift ends it there.
Everything is on record then, and the next process continues as if there had been no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # nobody else's run is handed over
    from ralph.domain.loop.handover import Handover


class ShiftOver(Exception):
    """Unwinds like a cancellation: the run has not ended, so nobody may report an end or catch it as a failure."""

    def __init__(self, handover: Handover) -> None:
        super().__init__(handover)
        self.handover = handover


class Shift(Protocol):
    """What begins something raises ShiftOver if that is for the next shift to do."""

    def begin_session(self) -> None: ...

    def begin_wait(self, seconds: float, reason: str) -> None: ...

    def begin_merge(self) -> None: ...

    def note_merge(self, commit: str) -> None:
        """The work is in its target, which is at ``commit``: only ralph says so, never the branch, which others can move."""
        ...


class EndlessShift:
    """One process does it all."""

    def begin_session(self) -> None: ...

    def begin_wait(self, seconds: float, reason: str) -> None: ...

    def begin_merge(self) -> None: ...

    def note_merge(self, commit: str) -> None: ...


ENDLESS = EndlessShift()
