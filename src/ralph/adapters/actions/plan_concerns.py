"""Says so when a story was approved only because it has had all its reviews."""

from __future__ import annotations

from ralph.engine.plan_ports import TrustedPlan
from ralph.engine.ports import ActionResult, Judging, Trigger

SHOWN = 300


class PlanConcerns:
    """Its failure is a concern of the user's: the run ends as completed with concerns."""

    name = "review cap"
    trigger = Trigger.ON_ACCEPT

    def __init__(self, plan: TrustedPlan) -> None:
        self._plan = plan

    async def run(self, judging: Judging) -> ActionResult:
        key = self._plan.at_cap
        if key is None:
            return ActionResult(ok=True)
        said = " ".join(self._plan.document.story(key).review_feedback.split())[:SHOWN]
        return ActionResult(ok=False, message=f"story {key} was approved at the cap: {said}")
