"""How often to look at pull requests: soon after something happened, then ever more rarely, and never at a noticeable cost."""

from __future__ import annotations

from ralph.domain.loop.budget import Backoff

CI = Backoff(first=10.0, factor=1.5, longest=60.0)
PEOPLE = Backoff(first=60.0, factor=1.5, longest=900.0)
AWAY = Backoff(first=10.0, longest=300.0)
MOST_LOOKS = 20
SHARE = 0.005
"""Of one processor: what whole looks may take, over all pull requests of this process."""
FEW = 3
"""So many are looked at whole each time; of more, first only their pulse is felt."""
AT_LEAST = 300.0
"""Seconds between two whole looks at one of many: a pulse does not tell everything."""


def until_next_look(unchanged: int, *, for_people: bool) -> float:
    """Seconds. ``unchanged``: looks in a row that found nothing new."""
    return (PEOPLE if for_people else CI).delay(unchanged + 1)


def looks_within(seconds: float, *, for_people: bool) -> int:
    """How many looks fit into the time since something changed; after the last of these, the pace is the slowest."""
    looks = 0
    while looks < MOST_LOOKS and seconds >= (next_look := until_next_look(looks, for_people=for_people)):
        seconds -= next_look
        looks += 1
    return looks


def between_whole_looks(others: int, look_cost: float) -> float:
    """Seconds. ``others``: pull requests that this process looks at, this one included."""
    return 0.0 if others <= FEW else max(AT_LEAST, others * look_cost / SHARE)
