"""What proves a plan: its own verifyCommands an approval, and the shape of its files a draft."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ralph.domain.loop.events import CheckEnded, CheckStarted
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import Spend, most_lasting
from ralph.domain.plan.correction import FailedProof, refusal_text, refuse
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.draft import draft_problems, list_problems
from ralph.domain.plan.story import ReviewRules
from ralph.domain.text.figures import plural
from ralph.domain.text.masking import mask_text
from ralph.domain.text.reader import Problem
from ralph.domain.text.safe_text import unique_slugs
from ralph.engine.deadline import TimeOver, no_deadline, unless_cut
from ralph.engine.plans.ports import PlanRepository, PlanStore, TrustedPlan
from ralph.engine.ports import Check, Judging, When
from ralph.values import replace

PRD = "prd.md"
SHOWN = 300
"""Characters of a review that a concern quotes."""

MakeCheck = Callable[[str, str], Check]
"""A command and its slug → the check that runs it."""


class PlanProofs:
    """Runs after the audit. ``guardrails`` are the user's own checks; they deny an approval as well.

    ``layers``: what else an approval must pass, one after the other. ``accept`` is called when it has.
    """

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
        layers: Sequence[Check] = (),
        accept: Callable[[], Awaitable[None]] | None = None,
        time_over: TimeOver = no_deadline,
    ) -> None:
        self._plan = plan
        self._store = store
        self._rules = rules
        self._repository = repository
        self._make_check = make_check
        self._guardrails = guardrails
        self._layers = layers
        self._accept = accept
        self._time_over = time_over

    async def run(self, judging: Judging) -> CheckResult:
        plan = self._plan
        approved, key = plan.pending, plan.moved
        if approved is None or key is None:
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason="nothing was approved")
        checks = self._checks(approved)
        results = await self._run(checks, judging)
        for layer in self._layers:
            if not judging.control.stopping and all(result.holds for result in results.values()):
                results |= await self._run([layer], judging)
        found = results.values()
        spend = sum((result.spend for result in found), Spend())
        seconds = sum(result.seconds for result in found)
        failed = {check: result for check, result in results.items() if not result.holds}
        hindrance = most_lasting([result.hindrance for result in failed.values()])
        if judging.control.stopping or hindrance is not None:
            # Not judged: the approval stays pending, and is forgotten with it.
            reason = hindrance.reason if hindrance is not None else "the run was stopped"
            return CheckResult(
                self.name,
                Verdict.ERRORED,
                seconds=seconds,
                reason=reason,
                spend=spend,
                hindrance=hindrance,
            )
        if failed:
            failures = [_failure(*one) for one in failed.items()]
            reason = (
                f"the approval of {key} was refused, failing: {', '.join(each.command for each in failures)}"
            )
            refused = CheckResult(self.name, Verdict.FAILED, seconds=seconds, reason=reason, spend=spend)
            await self._refuse(approved, key, failures, refused)
            return refused
        if self._accept is not None:
            await self._accept()
        plan.document, plan.since = approved, ""
        concern = "; ".join(filter(None, (_at_cap(plan), *(result.concern for result in found))))
        passed = CheckResult(
            self.name,
            Verdict.PASSED,
            seconds=seconds,
            spend=spend,
            concern=concern,
            contains=sum(result.verdict is Verdict.PASSED for result in found),
        )
        none = replace(passed, verdict=Verdict.SKIPPED, required=False, reason="there are none")
        result = passed if checks else none
        self._settle(result)
        return result

    def _settle(self, result: CheckResult) -> None:
        plan = self._plan
        plan.pending, plan.in_session = None, False
        plan.settled = plan.settled and plan.settled.concluded(result)
        self._store.save_trusted(plan.to_json())

    def _checks(self, document: TasksDocument) -> list[Check]:
        commands = document.verify_commands
        slugs = unique_slugs(f"verify {mask_text(command)}" for command in commands)
        made = [self._make_check(command, slug) for command, slug in zip(commands, slugs, strict=True)]
        return [*made, *self._guardrails]

    async def _run(self, checks: Sequence[Check], judging: Judging) -> dict[Check, CheckResult]:
        """All of them: the next session should hear of every failure at once."""
        results = {}
        for check in checks:
            judging.publish(CheckStarted(check.name, check.command))
            result = unless_cut(await check.run(judging), judging.control, self._time_over)
            judging.publish(CheckEnded(result))
            results[check] = result
            if judging.control.stopping:
                break
        return results

    async def _refuse(
        self, approved: TasksDocument, key: str, failures: Sequence[FailedProof], result: CheckResult
    ) -> None:
        plan = self._plan
        plan.document = refuse(approved, key, failures, skip_review=self._rules.skip)
        plan.at_cap = None
        refused = f"The approval of story {key} was refused by the harness."
        plan.told = (*plan.told, refusal_text(failures) if self._rules.skip else refused)
        self._store.write_tasks(plan.document.text())
        if self._repository is not None:
            tasks = f"{self._store.folder}/tasks.json"
            await self._repository.commit([tasks], f"ralph: refuse the approval of [{key}]")
        self._settle(result)  # last: whoever is killed before leaves a session that nobody judged


def _failure(check: Check, result: CheckResult) -> FailedProof:
    said = result.feedback.text if result.feedback is not None else result.reason
    return FailedProof(check.command or check.name, said)


def _at_cap(plan: TrustedPlan) -> str:
    """Worth reporting: a story that was approved only because it has had all its reviews."""
    if plan.at_cap is None:
        return ""
    said = " ".join(plan.document.story(plan.at_cap).review_feedback.split())[:SHOWN]
    return f"story {plan.at_cap} was approved at the cap: {said}"


class PlanDraftCheck:
    """``keeps_prd``: it is the user's and is put back if the session touched it. prompt.md always is."""

    name = "plan draft"
    command = ""
    when = When.ALWAYS

    def __init__(self, store: PlanStore, *, keeps_prd: bool, is_scaffold: Callable[[str], bool]) -> None:
        self._store = store
        self._keeps_prd = keeps_prd
        self._is_scaffold = is_scaffold
        self._guarded = dict(store.read_guarded())

    async def run(self, judging: Judging) -> CheckResult:
        found = [*draft_problems(self._store.read_tasks()), *self._prd_problems()]
        if not found:
            return CheckResult(self.name, Verdict.PASSED)
        reason = f"{plural(len(found), 'problem')}: {found[0]}"
        return CheckResult(self.name, Verdict.FAILED, feedback=Feedback(list_problems(found)), reason=reason)

    def _prd_problems(self) -> list[Problem]:
        now = self._store.read_guarded()
        found = []
        for name, content in self._guarded.items():
            if now.get(name) != content and (name != PRD or self._keeps_prd):
                self._store.write_guarded(name, content)
                found.append(Problem((name,), "must not be changed: it was put back"))
        prd = now.get(PRD)
        if not self._keeps_prd and (prd is None or self._is_scaffold(prd.decode(errors="replace"))):
            found.append(Problem((PRD,), "is missing, or still the empty template"))
        return found
