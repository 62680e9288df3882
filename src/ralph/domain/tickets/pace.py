"""How often trackers are asked: politely while they answer, ever more rarely while they do not."""

from __future__ import annotations

from zlib import crc32

from ralph.domain.loop.budget import Backoff

AWAY = Backoff(first=5.0, longest=300.0)


def until_next_look(poll: float, failures: int, *, after: float | None = None) -> float:
    """Seconds. ``poll``: as the settings say; ``failures``: looks in a row that failed; ``after``: what the tracker asks for."""
    return poll if not failures else max(AWAY.delay(failures), after or 0.0)


def until_next_try(poll: float, holder: str) -> float:
    """Seconds until a ticket that was not ours is asked for again, if it is free then. Two that stood back for each other come
    back at different times: by their names, which differ."""
    return poll * (1 + crc32(holder.encode()) % 1000 / 1000)
