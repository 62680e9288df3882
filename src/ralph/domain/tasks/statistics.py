"""Past stages in numbers: how each role and method did, and which limits that suggests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ralph.domain.tasks.history import StageRecord
from ralph.domain.tasks.roles import CompletionDefaults
from ralph.values import dataclass

ENOUGH = 5
"""Stages; fewer are too few to suggest anything."""
USUALLY = 0.9
SPARE = 1.5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``limit`` is what the past suggests; the current one if the past is too short."""

    role: str
    stages: int
    limit: int
    present: int
    reason: str


def suggest_limit(records: Sequence[StageRecord], *, present: int) -> tuple[int, str]:
    """A limit that nine of ten accepted stages would have kept with half as much to spare, and why.

    Stages that ran out of iterations might have needed more: where they are more than one in ten, the limit rises.
    """
    accepted = sorted(record.iterations for record in records if record.accepted)
    if len(records) < ENOUGH:
        return present, f"{len(records)} of {ENOUGH} stages needed to tell"
    exhausted = sum(not record.accepted and record.iterations >= present for record in records)
    if exhausted > (1 - USUALLY) * len(records):
        return math.ceil(present * SPARE), f"{exhausted} of {len(records)} ran out of iterations"
    if not accepted:
        return present, "none was accepted, and none ran out of iterations"
    usual = accepted[math.ceil(USUALLY * len(accepted)) - 1]
    return max(2, math.ceil(usual * SPARE)), f"nine of ten needed at most {usual}"


def suggestions(
    records: Iterable[StageRecord], defaults: CompletionDefaults | None = None
) -> tuple[Suggestion, ...]:
    """One for each role that has worked, in the order of the roles."""
    defaults = defaults or CompletionDefaults()
    by_role: dict[str, list[StageRecord]] = {role: [] for role in defaults.roles}
    for record in records:
        by_role.setdefault(record.role, []).append(record)
    found = []
    for role, stages in by_role.items():
        if stages:
            present = defaults.of(role).max_iterations or defaults.max_iterations
            limit, reason = suggest_limit(stages, present=present)
            found.append(Suggestion(role, len(stages), limit, present, reason))
    return tuple(found)


# --- figures ---

BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class StageFigures:
    """``iterations``, ``seconds``, ``cost_usd`` and ``tokens`` are means; ``counts``: how many needed 1, 2, 3 … iterations."""

    role: str
    method: str
    stages: int
    accepted: int
    iterations: float
    first_pass: float
    seconds: float
    cost_usd: float | None  # None: unknown
    tokens: float
    counts: tuple[int, ...]


def figures(records: Iterable[StageRecord], roles: Sequence[str] = ()) -> tuple[StageFigures, ...]:
    """In the order of the roles, then of the methods."""
    groups: dict[tuple[str, str], list[StageRecord]] = {}
    for record in records:
        groups.setdefault((record.role, record.method), []).append(record)
    order = {role: place for place, role in enumerate(roles)}
    keys = sorted(groups, key=lambda key: (order.get(key[0], len(order)), key))
    return tuple(_figures_of(*key, groups[key]) for key in keys)


def _figures_of(role: str, method: str, records: list[StageRecord]) -> StageFigures:
    number = len(records)
    costs = [record.cost_usd for record in records if record.cost_usd is not None]
    most = max(record.iterations for record in records)
    counts = [0] * max(1, min(most, 20))
    for record in records:
        counts[min(max(record.iterations, 1), len(counts)) - 1] += 1
    return StageFigures(
        role,
        method,
        stages=number,
        accepted=sum(record.accepted for record in records),
        iterations=sum(record.iterations for record in records) / number,
        first_pass=sum(record.accepted and record.iterations <= 1 for record in records) / number,
        seconds=sum(record.seconds for record in records) / number,
        cost_usd=sum(costs) / len(costs) if costs else None,
        tokens=sum(record.tokens for record in records) / number,
        counts=tuple(counts),
    )


def spark(counts: Sequence[int]) -> str:
    """A small plot: one bar for each number."""
    most = max(counts, default=0)
    if not most:
        return ""
    return "".join(BARS[round(count / most * (len(BARS) - 1))] if count else " " for count in counts)
