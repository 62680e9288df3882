"""How long nothing may change before nobody waits for it any more."""

from __future__ import annotations


class Patience:
    """Counted from the last change of what was seen. A look that saw nothing is no change: else a forge that is away now
    and then would be waited for without end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: object = None
        self._since: float | None = None

    def left(self, now: float, seen: object) -> float:
        """Seconds. ``seen``: anything that differs when something has changed; None: nothing could be seen."""
        if self._since is None or (seen is not None and seen != self._seen):
            self._since = now
        if seen is not None:
            self._seen = seen
        return self._since + self._seconds - now
