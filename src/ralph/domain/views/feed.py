"""What a face that follows the record asks for: whether there is news, and the events themselves."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """Differs whenever there may be something new to see; an equal one means that nothing was written."""

    file: int = 0  # 0: there is no record yet
    version: int = 0
    seq: int = 0  # of the newest event of any run
    plan: int = 0


class FeedEvent(NamedTuple):
    """One event as it is stored; ``data`` is JSON, which another version of ralph may have written."""

    seq: int
    iteration: int
    at: float
    kind: str
    data: bytes
