"""Why a task that is ready is not begun after all."""

from __future__ import annotations

from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class NotOurs:
    """``again``: seconds until it may be asked for again; None: not in this run."""

    reason: str
    again: float | None = None
