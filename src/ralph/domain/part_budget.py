"""The budget of a run that is a part of another: the whole may be used up too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ralph.domain.budget import Budget
from ralph.domain.state import LoopState


def _no_limit() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class PartBudget(Budget):
    """``whole`` says why nothing more may be begun at all, or None."""

    whole: Callable[[], str | None] = _no_limit

    def exceeded(self, state: LoopState) -> str | None:
        return Budget.exceeded(self, state) or self.whole()
