"""How many sessions a worker has at a time, and for whom it keeps a place."""

from __future__ import annotations

KEEP = 2.0
"""Seconds that a place is kept for the job whose shift has just ended: its next one comes within milliseconds."""
REST = 7.0
"""Seconds that a worker takes nothing new after it could not do a shift: longer than that job waits, so that another gets it."""
TRUSTED = 600.0
"""Seconds after a shift that went well, in which a failure is the job's or the remote's rather than this machine's."""


class Places:
    """``now``: seconds on whatever clock the caller has."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._taken: set[str] = set()
        self._kept: dict[str, float] = {}
        self._rests_until = self._trusted_until = float("-inf")
        self.is_closed = False

    @property
    def taken(self) -> int:
        return len(self._taken)

    def has_free(self, now: float) -> bool:
        """For a job that nobody expects."""
        return not self.is_closed and now >= self._rests_until and self._used(now) < self._slots

    def take(self, job: str, now: float, *, in_any_case: bool = False) -> bool:
        """False: there is none for this job. ``in_any_case``: others wait for it, and it has no session."""
        kept = self._kept.pop(job, 0.0) > now
        if self.is_closed or not (kept or in_any_case or self._used(now) < self._slots):
            return False
        self._taken.add(job)
        return True

    def leave(self, job: str, now: float, *, comes_back: bool) -> None:
        self._taken.discard(job)
        if comes_back:
            self._kept[job] = now + KEEP

    def count(self, now: float, *, well: bool) -> None:
        """A shift went well, or this machine could not do it: one that can do none is always free, and would get them all."""
        if well:
            self._trusted_until = now + TRUSTED
        elif now >= self._trusted_until:
            self._rests_until = now + REST

    def _used(self, now: float) -> int:
        self._kept = {job: until for job, until in self._kept.items() if until > now}
        return len(self._taken) + len(self._kept)
