"""Figures over past stages, by role and method: for ``ralph stats`` and the faces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ralph.domain.learning import first_pass_rates
from ralph.domain.verification_record import StageRecord

BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class StageFigures:
    """``iterations`` and so on are means over the stages; ``counts`` says how many needed 1, 2, 3 … iterations."""

    role: str
    method: str
    stages: int
    accepted: int
    iterations: float
    first_pass: float
    seconds: float
    cost_usd: float | None  # None: nobody knows
    tokens: float
    counts: tuple[int, ...]


def figures(records: Iterable[StageRecord], roles: Sequence[str] = ()) -> tuple[StageFigures, ...]:
    """In the order of the roles, then of the methods."""
    groups: dict[tuple[str, str], list[StageRecord]] = {}
    for record in records:
        groups.setdefault((record.role, record.method), []).append(record)
    rates = first_pass_rates(record for group in groups.values() for record in group)
    order = {role: place for place, role in enumerate(roles)}
    keys = sorted(groups, key=lambda key: (order.get(key[0], len(order)), key))
    return tuple(_of(key, groups[key], rates[key]) for key in keys)


def _of(key: tuple[str, str], records: list[StageRecord], first_pass: float) -> StageFigures:
    number = len(records)
    costs = [record.cost_usd for record in records if record.cost_usd is not None]
    most = max(record.iterations for record in records)
    counts = [0] * max(1, min(most, 20))
    for record in records:
        counts[min(max(record.iterations, 1), len(counts)) - 1] += 1
    return StageFigures(
        role=key[0],
        method=key[1],
        stages=number,
        accepted=sum(record.accepted for record in records),
        iterations=sum(record.iterations for record in records) / number,
        first_pass=first_pass,
        seconds=sum(record.seconds for record in records) / number,
        cost_usd=sum(costs) / len(costs) if costs else None,
        tokens=sum(record.tokens for record in records) / number,
        counts=tuple(counts),
    )


def spark(counts: Sequence[int]) -> str:
    """A little plot: one bar for each number."""
    most = max(counts, default=0)
    if not most:
        return ""
    return "".join(BARS[round(count / most * (len(BARS) - 1))] if count else " " for count in counts)
