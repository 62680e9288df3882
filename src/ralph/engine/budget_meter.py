"""Watching a budget while a session runs: its time, and what its stream says that it uses."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.agent.transcript import Transcript
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.events import AgentEnded, LoopEvent
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.values import replace

NO_LIMITS = Budget()


def _no_time() -> float:
    return 0.0


class Meter:
    """A listener that adds up what all sessions used, and the ``watch`` of the one that is under way.

    ``seconds`` is the time that the run has taken so far, in all its processes.
    """

    def __init__(
        self,
        budget: Budget,
        spent: Spend,
        *,
        warn: Callable[[str], None],
        seconds: Callable[[], float] = _no_time,
    ) -> None:
        self._budget = budget.of_session()
        self._spent = spent
        self._warn = warn
        self.seconds = seconds
        self._has_warned = False

    @property
    def can_end_sessions(self) -> bool:
        return self._budget != NO_LIMITS

    def __call__(self, event: LoopEvent, at: float) -> None:
        if not isinstance(event, AgentEnded):
            return
        self.add(event.spend)
        if event.spend.is_partly_unknown and self._budget.cost_usd is not None and not self._has_warned:
            self._has_warned = True
            self._warn(
                "the agent does not report its cost, and there is no price for its model:"
                " the cost limit cannot be enforced (see the setting `prices`)"
            )

    def add(self, spend: Spend) -> None:
        """What no session of this process has used, but counts."""
        self._spent += spend

    def time_over(self) -> str | None:
        """Why there is no more time for anything, or None."""
        time = replace(self._budget, cost_usd=None, tokens=None)
        return time.exceeded(LoopState(seconds=self.seconds()))

    def watch(self, transcript: Transcript) -> str | None:
        """Why the session must end now, or None."""
        spend = self._spent + Spend(transcript.cost_usd, transcript.usage)
        return self._budget.exceeded(LoopState(spend=spend, seconds=self.seconds()))
