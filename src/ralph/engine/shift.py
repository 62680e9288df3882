"""A shift: how much of a run one process does before it hands the run over. Most runs are one shift that does not end.

The loop asks before each session and each wait, and ``ralph work`` before each merge; whoever gave a shift ends it there.
Everything is on record then, and the next process continues as if there had been no other.
"""

from __future__ import annotations

from typing import Protocol

from ralph.domain.loop.handover import Handover, Want


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


class ShortShift:
    """So many sessions, and waits no longer than ``longest_wait`` seconds. ``may_merge``: it is this run's turn, and there is no
    session, so that nothing but the merge happens while others wait. ``merged``: what was noted last; empty: nothing."""

    def __init__(self, *, sessions: int, longest_wait: float, may_merge: bool) -> None:
        self._sessions = 0 if may_merge else sessions
        self._longest_wait = longest_wait
        self._may_merge = may_merge
        self.merged = ""

    def begin_session(self) -> None:
        if self._sessions <= 0:
            raise ShiftOver(Handover(Want.SESSION))
        self._sessions -= 1

    def begin_wait(self, seconds: float, reason: str) -> None:
        if seconds > self._longest_wait:
            raise ShiftOver(Handover(Want.WAIT, seconds, reason))

    def begin_merge(self) -> None:
        if not self._may_merge:
            raise ShiftOver(Handover(Want.MERGE, reason="waits for its turn to merge"))

    def note_merge(self, commit: str) -> None:
        self.merged = commit
