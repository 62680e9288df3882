"""The shift of a worker: it ends, and the run is handed over."""

from __future__ import annotations

from ralph.domain.loop.handover import Handover, Want
from ralph.engine.shift import ShiftOver


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
