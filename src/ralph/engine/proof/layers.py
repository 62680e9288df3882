"""The layers of proof before a claim is accepted: each is an ordinary check, with its own result and time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.comparison import way_out
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.old_proof import OldProofPlan, plan_old_proof
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Judging, When
from ralph.engine.proof.changed_tests import ChangedTests
from ralph.engine.proof.proving import Proving, Ran, named
from ralph.engine.proof.tests_review import TestsReview
from ralph.errors import GitFailed
from ralph.values import replace


class Layer(ABC):
    """One that cannot run is an error, never a pass; and whatever it proves must still be there afterwards."""

    name: str = ""
    command = ""

    def __init__(self, proving: Proving) -> None:
        self._proving = proving

    @property
    def when(self) -> When:
        return self._proving.when

    async def run(self, judging: Judging) -> CheckResult:
        try:
            result = await self._prove(await self._proving.judged(judging), judging)
            is_same = not result.holds or await self._proving.is_still_judged(judging)
        except GitFailed as error:
            told = f"{error.message} ({error.hint})" if error.hint else error.message
            return CheckResult(self.name, Verdict.ERRORED, feedback=Feedback(told), reason=told)
        if not is_same:
            return replace(result, verdict=Verdict.FAILED, feedback=Feedback(CHANGED), reason=CHANGED)
        return result

    @abstractmethod
    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult: ...

    def _result(self, ran: Ran, passed: str, failed: str) -> CheckResult:
        """``passed`` and ``failed`` say what that means; the screen shows the first sentence."""
        if ran.verdict is None:
            return CheckResult(self.name, Verdict.PASSED, seconds=ran.seconds, reason=passed)
        verdict = ran.verdict
        output = f"\n\nOutput:\n{verdict.excerpt}" if verdict.excerpt else ""
        return CheckResult(
            self.name,
            Verdict.ERRORED if verdict.errored else Verdict.FAILED,
            feedback=Feedback(f"Your work {failed}\n`{ran.command}`: {verdict.reason}{output}"),
            command=ran.command,
            exit_code=verdict.exit_code,
            seconds=ran.seconds,
            log_file=ran.log_file,
            output_sha256=verdict.output_sha256,
            reason=f"{failed.partition('. ')[0]}: `{ran.command}`: {verdict.reason}",
            last_lines=verdict.last_lines,
        )


class CleanCheckout(Layer):
    """What would be accepted must pass without anything that is only in the working folder."""

    name = LayerName.CLEAN_CHECKOUT

    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult:
        ran = await self._proving.run(tree, judging, "clean")
        missing = f", which lacks {named(ran.left_out)}" if ran.left_out else ""
        # With every other check passed, the commands have; else nobody knows.
        fails = (
            "passes in the working folder, but not" if self.when is When.BEFORE_ACCEPT else "does not pass"
        )
        failed = (
            f"{fails} in a fresh checkout of the same files{missing}. Whatever "
            "a check needs must be part of the project: compiled files, files that .gitignore names and links that "
            "lead outside are not."
        )
        return self._result(ran, "passes without anything that is only in the working folder", failed)


class OldProof(Layer):
    """The new code must pass the checks as they were when the work began."""

    name = LayerName.OLD_PROOF

    def __init__(
        self, proving: Proving, protection: Protection, allowed: ChangedTests, review: TestsReview | None
    ) -> None:
        """``allowed``: tests that the task demands to change stay as they are. ``review`` says whether it does."""
        super().__init__(proving)
        self._protection = protection
        self._allowed = allowed
        self._review = review

    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult:
        plan = self._plan(tree)
        allowed = f"changed as allowed, and not put back: {named(plan.kept)}" if plan.kept else ""
        if not plan.put_back:
            written = (
                f"what decides the checks came with the work: {named(plan.written)}" if plan.written else ""
            )
            told = "; ".join(filter(None, (allowed, written)))
            return self._skipped(told or "nothing that decides the checks was changed")
        if plan.is_first:
            return self._skipped("there were no tests when the work began")
        failed = (
            "does not pass the tests and scripts as they were before the work began. They were put back, and new "
            f"ones left out: {named(plan.put_back)}. Make the code pass them as they were; if the task demands that they "
            "change, say which and why; a person must allow it (mayChange, --allow-test-changes)."
        )
        passed = f"passes with {named(plan.put_back)} as before the work{f'; {allowed}' if allowed else ''}"
        result = self._result(await self._try(plan, tree, judging), passed, failed)
        if result.verdict is Verdict.FAILED:
            result = replace(result, last_lines=(*result.last_lines, way_out(())))
            return await self._reviewed(result, plan, tree, judging)
        return result

    def _plan(self, tree: Tree, conceded: Collection[str] = ()) -> OldProofPlan:
        return plan_old_proof(
            tree,
            self._proving.store.base,
            self._protection,
            self._proving.required,
            is_allowed=lambda path: path in conceded or self._allowed.allows(path, tree),
        )

    async def _try(self, plan: OldProofPlan, tree: Tree, judging: Judging) -> Ran:
        old = tree.putting_back(plan.put_back, self._proving.store.base)
        return await self._proving.run(old, judging, "old_proof", is_excused=plan.excuses)

    async def _reviewed(
        self, denied: CheckResult, plan: OldProofPlan, tree: Tree, judging: Judging
    ) -> CheckResult:
        """Fresh eyes are asked only if their answer decides: with these tests as they are now, the rest must pass as it
        was. They are not asked again about tests that they have just denied."""
        if self._review is None or self._allowed.pending:
            return denied
        seconds = denied.seconds
        for disputed in plan.disputes:
            ran = await self._try(self._plan(tree, {one.path for one in disputed}), tree, judging)
            seconds += ran.seconds
            if ran.verdict is None:
                review = await self._review.ask(disputed, tree, judging)
                told = [one.feedback.text for one in (review, denied) if one.feedback is not None]
                return replace(
                    review,
                    name=self.name,
                    feedback=Feedback("\n\n".join(told)) if review.feedback is not None else None,
                    seconds=seconds + review.seconds,
                    log_file="" if review.holds else denied.log_file,
                )
        return replace(denied, seconds=seconds)

    def _skipped(self, reason: str) -> CheckResult:
        return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=reason)


CHANGED = (
    "the files changed while they were judged: something was still running that writes to them. End what you start "
    "before you say that you are done"
)
