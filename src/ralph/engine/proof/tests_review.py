"""Fresh eyes on changed tests: a session that did not do the work says whether the task demands each change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from ralph.domain.loop.events import Warned
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import AgentReport, Ending, Hindrance, Obstacle, Spend
from ralph.domain.proof.comparison import Finding, way_back, way_out
from ralph.domain.proof.layer_names import LayerName
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.tests_review import Change, changes_of, portions_of, question, read_answer
from ralph.domain.proof.tree import Tree
from ralph.engine.ports import Agent, AgentRequest, Journal, Judging, When
from ralph.engine.proof.changed_tests import ChangedTests
from ralph.engine.proof.comparison import states_of
from ralph.engine.proof.ports import ProofStore
from ralph.errors import AgentUnavailable, GitFailed
from ralph.values import dataclass, replace

PURPOSE = "verification"
ROLE = "judge"
TRIES = 2
REASON_CHARS = 600
SHOWN_LINES = 4
TOO_MUCH = "its change is too large to be reviewed"
AS_BEFORE = "nothing has changed since the last review"
UNREAD = "the review gave no answer that could be read"


@dataclass(frozen=True, slots=True)
class Reviewing:
    """``reviewer`` makes an agent that answers in a tag; the second time it is asked, ``turn`` is 1."""

    reviewer: Callable[[str, int], Agent]
    journal: Journal
    redact: Callable[[str], str]


class TestsReview:
    """Asked only when tests that were there have changed, and usually only when the work would be accepted otherwise."""

    __test__ = False
    name: str = LayerName.TESTS_REVIEW
    command = ""

    def __init__(
        self,
        store: ProofStore,
        protection: Protection,
        changed: ChangedTests,
        reviewing: Reviewing,
        *,
        when: When = When.BEFORE_ACCEPT,
        base: str = "",
    ) -> None:
        self.when = when
        self._store = store
        self._protection = protection
        self._changed = changed
        self._reviewing = reviewing
        self._base = base
        self._asked: tuple[Judging | None, int] = (None, 0)  # how often about one claim

    async def run(self, judging: Judging) -> CheckResult:
        pending = self._changed.pending
        if not pending:
            reason = "no test that was there needs a review"
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=reason)
        try:
            tree = await self._store.snapshot()
        except GitFailed as error:
            return self._errored(error)
        result = await self.ask(pending, tree, judging)
        if result.holds:
            self._changed.pending = ()
        return result

    async def ask(self, found: Sequence[Finding], tree: Tree, judging: Judging) -> CheckResult:
        """Whether the task demands what was found: then these files are allowed as they are in ``tree``."""
        if (known := self._changed.denied(found, tree, judging.assignment.objective)) is not None:
            return replace(known, reason=f"{AS_BEFORE}: {known.reason}", spend=Spend(), seconds=0.0)
        try:
            states = await states_of(self._store, tree, self._protection)
            # In a thread: large files take seconds, and a stop must be heard.
            changes = await asyncio.to_thread(changes_of, [one.path for one in found], states)
            portions, too_much = portions_of(changes)
            if too_much:
                return self._denied(found, dict.fromkeys(too_much, TOO_MUCH), Spend(), is_answered=False)
            spent, concerns = Spend(), []
            for portion in portions:
                result = await self._review(judging, tree, found, portion)
                spent += result.spend
                if not result.holds:
                    return replace(result, spend=spent, seconds=spent.seconds)
                concerns.append(result.reason)
        except GitFailed as error:
            return self._errored(error)
        except AgentUnavailable as error:
            return self._nobody(found, error)
        for path in (path for change in changes for path in (change.path, change.new_path) if path):
            self._changed.allow(path, tree)
        said = (
            "tests were changed, because the task demands it"
            if any(one.is_test for one in found)
            else "a review trusts the check that the worker wrote"
        )
        concern = f"{said}: {'; '.join(concerns)}"
        return CheckResult(
            self.name, Verdict.PASSED, reason=concern, concern=concern, spend=spent, seconds=spent.seconds
        )

    async def _review(
        self, judging: Judging, tree: Tree, found: Sequence[Finding], changes: Sequence[Change]
    ) -> CheckResult:
        """One question: a yes to every change says why each is demanded."""
        import secrets

        spent = Spend()
        hindrance: Hindrance | None = None
        paths = [change.path for change in changes]
        for turn in range(TRIES):
            tag = f"tests-{secrets.token_hex(4)}"  # the change cannot know it, and so cannot answer for the reviewer
            prompt = question(judging.assignment.objective, found, changes, tag=tag)
            report = await self._ask(judging, tree, prompt, tag, turn)
            spent += report.spend
            if report.ending is Ending.STOPPED:
                return CheckResult(self.name, Verdict.ERRORED, reason="the review was stopped", spend=spent)
            hindrance = _hindrance_of(report)
            if hindrance is not None:
                if hindrance.obstacle is not Obstacle.TRANSIENT:
                    break
                continue
            said = read_answer([one.content for one in report.tags if one.name == tag], paths)
            if said is None:
                if turn + 1 < TRIES:
                    judging.publish(Warned(f"{UNREAD}: asking once more", mild=True))
                continue
            denied = {path: opinion for path, opinion in said.items() if not opinion.demanded}
            if denied:
                why = {path: one.why or "no reason was given" for path, one in denied.items()}
                answer = self._denied(found, why, spent)
                self._changed.deny(found, tree, judging.assignment.objective, answer)
                return answer
            reason = "; ".join(f"{change.place} ({said[change.path].why})" for change in changes)
            return CheckResult(self.name, Verdict.PASSED, reason=reason, spend=spent)
        if hindrance is not None:
            reason = f"nobody could be asked about the changed tests: {hindrance.reason}"
            return CheckResult(self.name, Verdict.ERRORED, reason=reason, spend=spent, hindrance=hindrance)
        unread = dict.fromkeys(paths, UNREAD)
        return self._denied(found, unread, spent, is_answered=False)

    def _errored(self, error: GitFailed) -> CheckResult:
        return CheckResult(self.name, Verdict.ERRORED, feedback=Feedback(error.message), reason=error.message)

    def _nobody(self, pending: Sequence[Finding], error: AgentUnavailable) -> CheckResult:
        """No program that could review: trying again does not help, but a worker can put the tests back."""
        lines = _lines(pending, dict.fromkeys((one.path for one in pending), ""))
        reason = (
            f"nobody can review changed tests here ({error.message}): set agent.command, or allow them with "
            f"--allow-test-changes or `tests`: {'; '.join(lines)}"
        )
        return CheckResult(
            self.name,
            Verdict.FAILED,
            feedback=self._told(f"nobody can review that here ({error.message})", lines),
            reason=reason[:REASON_CHARS],
            last_lines=tuple(lines[:SHOWN_LINES]),
        )

    def _denied(
        self, pending: Sequence[Finding], why: Mapping[str, str], spent: Spend, *, is_answered: bool = True
    ) -> CheckResult:
        lines = _lines(pending, why)
        found = "a review says that the task does not demand it"
        reason = "the task does not demand these changes of tests"
        if not is_answered:
            found = "nobody confirmed that the task demands it"
            reason = "nobody confirmed that the task demands these changes"
        return CheckResult(
            self.name,
            Verdict.FAILED,
            feedback=self._told(found, lines),
            reason=f"{reason}: {'; '.join(lines)}"[:REASON_CHARS],
            last_lines=(*lines[:SHOWN_LINES], way_out(pending)),
            spend=spent,
            seconds=spent.seconds,
        )

    def _told(self, found: str, lines: Sequence[str]) -> Feedback:
        listed = "\n".join(f"- {line}" for line in lines)
        return Feedback(
            f"Tests have been changed or added, and {found}:\n"
            f"{listed}\nPut them back {way_back(self._base)} (delete what was added), and fix the code instead. If the task "
            "cannot be done without such a change, say so and why; a person must allow it (mayChange, --allow-test-changes)."
        )

    async def _ask(self, judging: Judging, tree: Tree, prompt: str, tag: str, turn: int) -> AgentReport:
        """In a throw-away checkout: whatever it does there, the work stays as it is."""
        prompt = self._reviewing.redact(prompt)
        number = self._asked[1] + 1 if self._asked[0] is judging else 1
        self._asked = (judging, number)
        files = self._reviewing.journal.open_session(
            prompt,
            iteration=judging.iteration,
            attempt=judging.attempt,
            purpose=f"tests-review-{number}" if number > 1 else "tests-review",
        )
        async with self._store.checkout(tree) as checkout:
            request = AgentRequest(
                prompt=prompt,
                prompt_file=files.prompt,
                log_file=files.log,
                cwd=checkout.workspace,
                purpose=PURPOSE,
                role=judging.assignment.role,
                environment={"RALPH_ROLE": ROLE},
                read_only=True,
                parts=(prompt,),
            )
            reviewer = self._reviewing.reviewer(tag, turn)
            return await reviewer.run(request, judging.publish, stop=judging.control.stop_now())


def _lines(pending: Sequence[Finding], why: Mapping[str, str]) -> list[str]:
    """What became of each file, and why that is denied."""
    return [
        f"{path}: {'; '.join(one.what for one in pending if one.path == path)}{f' ({reason})' if reason else ''}"
        for path, reason in why.items()
    ]


def _hindrance_of(report: AgentReport) -> Hindrance | None:
    """Why nobody has judged. A session that was cut off may do better the next time."""
    if report.hindrance is not None or report.ending is Ending.EXITED:
        return report.hindrance
    return Hindrance(Obstacle.TRANSIENT, f"it was cut off ({report.ending})")
