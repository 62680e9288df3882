"""How urgent a ticket is, from its labels: the most urgent one counts."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.domain.tasks.task import DEFAULT_PRIORITY
from ralph.patterns import pattern

_RANKS = {
    "urgent": 1, "critical": 1, "blocker": 1, "p0": 1,
    "high": 3, "p1": 3,
    "medium": 5, "normal": 5, "p2": 5,
    "low": 7, "p3": 7,
}  # fmt: skip
_FRAME = pattern(r"^(?:priority|prio)[\s:/=_-]+|[\s_-]+(?:priority|prio)$")
LONGEST = 100
"""No tracker has longer labels; what is longer says something else."""


def priority_of(names: Iterable[str]) -> int:
    """Smaller is first. ``high``, ``priority: high``, ``High priority`` and ``P1`` mean the same; others mean nothing."""
    found = [rank for name in names if len(name) <= LONGEST and (rank := _RANKS.get(_bare(name)))]
    return min(found, default=DEFAULT_PRIORITY)


def _bare(name: str) -> str:
    return _FRAME.sub("", name.strip().lower())
