"""What the sessions of a check have cost, whether or not it lived to say so."""

from __future__ import annotations

from ralph.domain.loop.events import AgentEnded, CheckEnded, CheckStarted, LoopEvent
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.loop.session_report import Spend
from ralph.engine.deadline import TimeOver, unless_cut
from ralph.engine.ports import Check, Judging, Publish
from ralph.values import replace

NOTHING = Spend()


class Tally:
    """Publishes for whoever judges, and adds up what the sessions in between have cost."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._spent = NOTHING

    def __call__(self, event: LoopEvent) -> None:
        if isinstance(event, AgentEnded):
            self._spent += event.spend
        self._publish(event)

    def take(self, reported: Spend = NOTHING) -> Spend:
        """Since it was taken last; ``reported`` if that is more, because not every session is one of ours."""
        spent, self._spent = self._spent, NOTHING
        return max(spent, reported, key=lambda one: (one.cost_usd or 0.0, one.usage.total, one.seconds))

    async def run(self, check: Check, judging: Judging, *, time_over: TimeOver) -> CheckResult:
        """``judging`` publishes here. If the check raises, ``take`` says what it has cost."""
        self(CheckStarted(check.name, check.command))
        result = unless_cut(await check.run(judging), judging.control, time_over)
        result = replace(result, spend=self.take(result.spend))
        self(CheckEnded(result))
        return result
