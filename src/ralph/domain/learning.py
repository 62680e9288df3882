"""What past stages teach: how many iterations a role usually needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ralph.domain.role_defaults import CompletionDefaults
from ralph.domain.verification_record import StageRecord

ENOUGH = 5
"""Stages; fewer say nothing."""
USUALLY = 0.9
SPARE = 1.5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``limit`` is what the past suggests; the present one if the past is too short."""

    role: str
    stages: int
    limit: int
    present: int
    reason: str


def suggested_limit(records: Sequence[StageRecord], *, present: int) -> tuple[int, str]:
    """A limit that nine of ten accepted stages would have kept with half as much to spare, and why.

    Stages that ran out of iterations might have needed more: where they are more than one in ten, the limit rises.
    """
    accepted = sorted(record.iterations for record in records if record.accepted)
    if len(records) < ENOUGH:
        return present, f"{len(records)} of {ENOUGH} stages needed to tell"
    exhausted = [
        record.iterations for record in records if not record.accepted and record.iterations >= present
    ]
    if len(exhausted) > (1 - USUALLY) * len(records):
        return math.ceil(present * SPARE), f"{len(exhausted)} of {len(records)} ran out of iterations"
    if not accepted:
        return present, "none was accepted, and none ran out of iterations"
    usual = accepted[min(len(accepted) - 1, math.ceil(USUALLY * len(accepted)) - 1)]
    return max(2, math.ceil(usual * SPARE)), f"nine of ten needed at most {usual}"


def suggestions(
    records: Iterable[StageRecord], defaults: CompletionDefaults | None = None
) -> tuple[Suggestion, ...]:
    """One for each role that was at work, in the order of the roles."""
    defaults = defaults or CompletionDefaults()
    by_role: dict[str, list[StageRecord]] = {role: [] for role in defaults.roles}
    for record in records:
        by_role.setdefault(record.role, []).append(record)
    found = []
    for role, stages in by_role.items():
        if stages:
            present = defaults.of(role).max_iterations or defaults.max_iterations
            limit, reason = suggested_limit(stages, present=present)
            found.append(Suggestion(role, len(stages), limit, present, reason))
    return tuple(found)


def first_pass_rates(records: Iterable[StageRecord]) -> Mapping[tuple[str, str], float]:
    """By role and method: the share of stages that were accepted at their first iteration."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for record in records:
        passed, all_ = counts.get((record.role, record.method), (0, 0))
        first = record.accepted and record.iterations <= 1
        counts[record.role, record.method] = (passed + first, all_ + 1)
    return {key: passed / all_ for key, (passed, all_) in counts.items()}
