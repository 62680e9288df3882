"""The layer for checks that the worker wrote itself: there is no old proof of them, so they must show that they can fail."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.canary import Sighting
from ralph.domain.proof.comparison import Finding, way_out
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.own_checks import OwnCheck, doubt_about, left_out, own_checks
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Judging
from ralph.engine.proof.changed_tests import ChangedTests
from ralph.engine.proof.layers import Layer
from ralph.engine.proof.planting import Planting
from ralph.engine.proof.proving import Proving, named
from ralph.engine.proof.tests_review import TestsReview
from ralph.values import replace

LOOKS = 3
"""At most, for tests that a command does not name: it may stop at the first that fails."""
NOTHING = Sighting(failed=False)


class OwnChecks(Layer):
    """A planted test must turn them red. Where it does not, ``tests`` says who decides, as about tests that changed."""

    name = LayerName.OWN_CHECKS

    def __init__(
        self,
        proving: Proving,
        protection: Protection,
        planting: Planting,
        changed: ChangedTests,
        review: TestsReview | None,
        *,
        tests: TestsPolicy,
    ) -> None:
        super().__init__(proving)
        self._protection = protection
        self._planting = planting
        self._changed = changed
        self._review = review
        self._tests = tests

    async def _prove(self, tree: Tree, judging: Judging) -> CheckResult:
        own = own_checks(self._proving.required, self._protection, tree, self._proving.store.base)
        own = tuple(each for each in own if each.in_doubt)
        if not own:
            reason = "the worker wrote nothing of what decides the checks, but for tests"
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=reason)
        found, errors, seconds = await self._look(own, tree, judging)
        if errors:
            reason = f"nobody knows whether the check can fail: {'; '.join(errors)}"
            return CheckResult(
                self.name, Verdict.ERRORED, seconds=seconds, reason=reason, feedback=Feedback(reason)
            )
        new = [one for one in found if not self._changed.allows(one.path, tree)]
        if not new:
            reason = "fails if a test fails, or was reviewed" if found else "fails if a test fails"
            return CheckResult(self.name, Verdict.PASSED, seconds=seconds, reason=f"{reason}: {_names(own)}")
        if self._tests is TestsPolicy.FREE:
            concern = "; ".join(_lines(new))
            return CheckResult(self.name, Verdict.PASSED, seconds=seconds, reason=concern, concern=concern)
        if self._review is None:
            return self._denied(CheckResult(self.name, Verdict.FAILED, seconds=seconds), new)
        review = await self._review.ask(new, tree, judging)
        review = replace(review, name=self.name, seconds=seconds + review.seconds)
        return self._denied(review, new) if review.verdict is Verdict.FAILED else review

    async def _look(
        self, own: Sequence[OwnCheck], tree: Tree, judging: Judging
    ) -> tuple[list[Finding], list[str], float]:
        """What is wrong with files of theirs, and which commands could not be tried."""
        required = [each.required for each in own if (tree.digest, each.required) not in self._proving.red]
        if not required:
            return [], [], 0.0
        sighted, seconds = await self._planting.sight(tree, judging, required, slug="own")
        found: list[Finding] = []
        errors: list[str] = []
        for each in (each for each in own if each.required in required):
            now = sighted.get(each.required.label, NOTHING)
            if now.error:
                errors.append(f"`{each.required.label}`: {now.error}")
                continue
            now, more = await self._look_again(each.required, now, tree, judging)
            seconds += more
            if what := doubt_about(each, now, self._proving.store.base):
                found += [Finding(path, what) for path in each.in_doubt]
            else:
                self._proving.red.add((tree.digest, each.required))
        return found, errors, seconds

    async def _look_again(
        self, each: RequiredCommand, now: Sighting, tree: Tree, judging: Judging
    ) -> tuple[Sighting, float]:
        """Plant those alone that it did not name: it may only have stopped at another one."""
        seconds = 0.0
        for _ in range(LOOKS):
            places = left_out(now, self._proving.store.base) if now.failed else frozenset()
            if not places:
                break
            alone, more = await self._planting.sight(tree, judging, [each], only_at=places, slug="own")
            seconds += more
            if not (seen := alone[each.label].seen):
                break
            now = replace(now, seen=now.seen | seen)
        return now, seconds

    def _denied(self, result: CheckResult, found: Sequence[Finding]) -> CheckResult:
        lines = [*result.last_lines] or _lines(found)
        paths = list(dict.fromkeys(one.path for one in found))
        told = "\n".join(f"- {line}" for line in lines if line != way_out(found))
        return replace(
            result,
            feedback=Feedback(TOLD.format(told)),
            reason=f"the worker wrote the check, and nobody confirms what it proves: {named(paths)}",
            last_lines=tuple(dict.fromkeys((*lines, way_out(found)))),
        )


def _names(own: Sequence[OwnCheck]) -> str:
    return ", ".join(each.required.label for each in own)


def _lines(found: Sequence[Finding]) -> list[str]:
    return [f"{one.path}: {one.what}" for one in found]


TOLD = (
    "You wrote what decides a check, because it was not there, and nothing shows that the check can fail:\n{}\nA check that "
    "cannot fail proves nothing. Let it run all tests of the project, and fail if one of them fails. If it is right as it "
    "is, say why; a person must allow it (mayChange, --allow-test-changes)."
)
