"""An approval counts when the plan's own verifyCommands, run by the harness, pass too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.domain.loop.events import CheckEnded, CheckStarted
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.session_report import Spend
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.modes import ReviewRules
from ralph.domain.plan.refusal import FailedProof, refusal_text, refuse
from ralph.domain.text.slug import unique_slugs
from ralph.engine.plans.ports import PlanRepository, PlanStore, TrustedPlan
from ralph.engine.ports import Check, Judging, When

SHOWN = 300
"""Characters of a review that a concern tells."""

MakeCheck = Callable[[str, str], Check]
"""A command and its slug → the check that runs it."""


class PlanProofs:
    """Runs after the audit. ``guardrails`` are the user's own checks; they deny an approval as well."""

    name = "verifyCommands"
    command = ""
    when = When.ALWAYS

    def __init__(
        self,
        plan: TrustedPlan,
        store: PlanStore,
        rules: ReviewRules,
        repository: PlanRepository | None,
        *,
        make_check: MakeCheck,
        guardrails: Sequence[Check] = (),
    ) -> None:
        self._plan = plan
        self._store = store
        self._rules = rules
        self._repository = repository
        self._make_check = make_check
        self._guardrails = guardrails

    async def run(self, judging: Judging) -> CheckResult:
        plan = self._plan
        approved, key = plan.pending, plan.moved
        if approved is None or key is None:
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason="nothing was approved")
        checks = self._checks(approved)
        failures, spend = await self._failing(checks, judging)
        if judging.control.stopping:
            # Not judged: the approval stays pending, and is forgotten with it.
            return CheckResult(self.name, Verdict.ERRORED, reason="the run was stopped", spend=spend)
        if failures:
            return await self._refuse(approved, key, failures, spend)
        plan.document, plan.pending, plan.in_session = approved, None, False
        self._store.save_trusted(plan.to_json())
        concern = _at_cap(plan)
        if not checks:
            return CheckResult(
                self.name,
                Verdict.SKIPPED,
                required=False,
                reason="there are none",
                spend=spend,
                concern=concern,
            )
        return CheckResult(self.name, Verdict.PASSED, spend=spend, concern=concern)

    def _checks(self, document: TasksDocument) -> list[Check]:
        commands = document.verify_commands
        slugs = unique_slugs(f"verify {command}" for command in commands)
        made = [self._make_check(command, slug) for command, slug in zip(commands, slugs, strict=True)]
        return [*made, *self._guardrails]

    async def _failing(self, checks: Sequence[Check], judging: Judging) -> tuple[list[FailedProof], Spend]:
        """All of them are run: the next session should hear of every failure at once."""
        failures = []
        spend = Spend()
        for check in checks:
            judging.publish(CheckStarted(check.name, check.command))
            result = await check.run(judging)
            judging.publish(CheckEnded(result))
            spend += result.spend
            if not result.holds:
                said = result.feedback.text if result.feedback is not None else result.reason
                failures.append(FailedProof(check.command or check.name, said))
            if judging.control.stopping:
                break
        return failures, spend

    async def _refuse(
        self, approved: TasksDocument, key: str, failures: Sequence[FailedProof], spend: Spend
    ) -> CheckResult:
        plan = self._plan
        plan.document = refuse(approved, key, failures, skip_review=self._rules.skip)
        plan.pending = plan.at_cap = None
        plan.in_session = False
        text = (
            refusal_text(failures)
            if self._rules.skip
            else f"The approval of story {key} was refused by the harness."
        )
        plan.told = (*plan.told, text)
        self._store.write_tasks(plan.document.text())
        self._store.save_trusted(plan.to_json())
        if self._repository is not None:
            tasks = f"{self._store.folder}/tasks.json"
            await self._repository.commit([tasks], f"ralph: refuse the approval of [{key}]")
        failing = ", ".join(failed.command for failed in failures)
        return CheckResult(
            self.name,
            Verdict.FAILED,
            reason=f"the approval of {key} was refused, failing: {failing}",
            spend=spend,
        )


def _at_cap(plan: TrustedPlan) -> str:
    """A story that was approved only because it has had all its reviews is something to tell."""
    if plan.at_cap is None:
        return ""
    said = " ".join(plan.document.story(plan.at_cap).review_feedback.split())[:SHOWN]
    return f"story {plan.at_cap} was approved at the cap: {said}"
