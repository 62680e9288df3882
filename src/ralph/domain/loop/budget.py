"""Limits of a run, and how long to wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ralph.domain.loop.session_report import Spend
from ralph.domain.proof.layer_names import check_list
from ralph.values import dataclass, replace

if TYPE_CHECKING:
    from ralph.domain.loop.state import LoopState

AGAIN = 10
"""Iterations for a run without a limit that made no progress, and is continued."""

UNCLAIMED = "every check passes, but the agent never said that it is done"
UNCLAIMED_AFTER = 3
"""Iterations in a row that pass every check, change nothing and claim nothing, before a run is ended."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, not random: 5 s, 10 s, 20 s … up to ``longest``."""

    first: float = 5.0
    factor: float = 2.0
    longest: float = 120.0

    def delay(self, attempt: int) -> float:
        exponent = min(max(attempt, 1) - 1, 60)  # by then any factor has reached the longest
        return min(self.longest, self.first * self.factor**exponent)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use; None is unlimited. ``stuck_after``: iterations in a row without progress; 0 is off."""

    iterations: int | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    stuck_after: int | None = None

    def of_session(self) -> Budget:
        """What ends a session that is under way: iterations and standstill are for the time between two."""
        return replace(self, iterations=None, stuck_after=None)

    def of_waiting(self) -> Budget:
        """What ends a wait for the work itself: nothing is launched meanwhile."""
        return Budget(seconds=self.seconds)

    def raised(self, state: LoopState) -> str:
        """Options of `ralph resume` that double the limits which are reached; standstill is forgotten there, but not
        without an option."""
        spend = state.spend
        options = []
        if self.iterations is not None and state.iteration >= self.iterations:
            options.append(f"-m {2 * max(self.iterations, state.iteration, 1)}")
        if self.cost_usd is not None and spend.cost_usd is not None and spend.cost_usd >= self.cost_usd:
            options.append(f"--max-cost {2 * max(self.cost_usd, spend.cost_usd):.2f}")
        if self.tokens is not None and spend.usage.total >= self.tokens:
            options.append(f"--max-tokens {2 * max(self.tokens, spend.usage.total)}")
        if self.seconds is not None and state.seconds >= self.seconds:
            options.append(f"--max-time {2 * max(self.seconds, state.seconds):.0f}")
        if not options and 0 < self.patience(state) <= state.standstill:
            options.append(f"-m {self.iterations or state.iteration + AGAIN}")
        return " ".join(options)

    def patience(self, state: LoopState) -> int:
        """Iterations in a row without progress that end the run; 0: never.

        Fewer where every check passes: all that is missing is a word, which the agent was asked for.
        """
        stuck_after = self.stuck_after or 0
        return min(stuck_after, UNCLAIMED_AFTER) if state.green else stuck_after

    def exceeded(self, state: LoopState) -> str | None:
        """Why no further launch is allowed, or None."""
        spend = state.spend
        if self.iterations is not None and state.iteration >= self.iterations:
            unclaimed = f"; {UNCLAIMED}" if state.green else ""
            return f"maximum iterations reached ({self.iterations}){unclaimed or _still_failing(state)}"
        if self.cost_usd is not None and spend.cost_usd is not None and spend.cost_usd >= self.cost_usd:
            return f"budget reached: ${spend.cost_usd:.2f} of ${self.cost_usd:.2f}"
        if self.tokens is not None and spend.usage.total >= self.tokens:
            return f"budget reached: {spend.usage.total} of {self.tokens} tokens"
        if self.seconds is not None and state.seconds >= self.seconds:
            return f"time is over: {self.seconds:g} s"
        patience = self.patience(state)
        if not patience or state.standstill < patience:
            return None
        if state.green:
            return f"{UNCLAIMED}, and {state.standstill} iterations in a row changed nothing"
        what = "changed nothing" if state.unchanged >= state.repeated else "failed in the same way"
        return f"stuck: {state.standstill} iterations in a row {what}{_still_failing(state)}"

    def hint(self, state: LoopState) -> str:
        """What a person can do about a limit that was reached; empty: whatever continues a run."""
        return "look at the changes: if they are what you wanted, the work is done" if state.green else ""


def _still_failing(state: LoopState) -> str:
    return f"; still failing: {check_list(state.failing)}" if state.failing else ""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast iterations follow each other."""

    delay: float = 0.0

    def delay_after(self, state: LoopState) -> float:
        return self.delay


def _no_limit() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class PartBudget(Budget):
    """``whole`` says why nothing more may start at all, or None. ``before``: what earlier runs of this part used."""

    whole: Callable[[], str | None] = _no_limit
    before: Spend = Spend()

    def of_session(self) -> Budget:
        """The whole has a watch of its own."""
        return replace(self, iterations=None, stuck_after=None, whole=_no_limit)

    def exceeded(self, state: LoopState) -> str | None:
        used = replace(state, spend=state.spend + self.before, seconds=state.seconds + self.before.seconds)
        return Budget.exceeded(self, used) or self.whole()
