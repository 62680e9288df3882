"""The budget of a run that is a part of another: the whole may be used up too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ralph.domain.budget import Budget
from ralph.domain.report import Spend
from ralph.domain.state import LoopState


def _no_limit() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class PartBudget(Budget):
    """``whole`` says why nothing more may be begun at all, or None. ``before`` is what earlier runs of the same part used."""

    whole: Callable[[], str | None] = _no_limit
    before: Spend = Spend()

    def exceeded(self, state: LoopState) -> str | None:
        used = replace(state, spend=state.spend + self.before, seconds=state.seconds + self.before.seconds)
        return Budget.exceeded(self, used) or self.whole()
