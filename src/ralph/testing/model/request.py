"""What an agent asked."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """``text`` is the JSON that was sent. ``is_side``: a request beside the work, for which no step was played."""

    protocol: str
    path: str
    headers: Mapping[str, str]
    text: str
    is_side: bool
