"""Whether the reviewer has answered: its findings are read strictly, and their places looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.review.answer import read_answer, why_no_block
from ralph.domain.review.finding import Finding, count_words, identify, locate
from ralph.domain.text.reader import Problem
from ralph.engine.ports import Judging, When
from ralph.engine.review.ports import ReviewedCommit

NAME = "review"
MOST_TOLD = 20


class AnswerCheck:
    """``keep`` puts the findings on record before the session counts as judged. No answer is never "no findings"."""

    name = NAME
    command = ""
    when = When.ALWAYS

    def __init__(
        self, commit: ReviewedCommit, *, tag: str, top: str, keep: Callable[[Sequence[Finding]], None]
    ) -> None:
        self._commit = commit
        self._tag = tag
        self._top = top  # of the reviewer's checkout, as it may call it
        self._keep = keep

    async def run(self, judging: Judging) -> CheckResult:
        report = judging.report
        if not report.is_orderly:
            return _no_answer([Problem((), "the session did not end well, so its answer does not count")])
        said = [one.content for one in report.tags if one.name == self._tag]
        answer = read_answer(said, checkout=self._top, without=why_no_block(report.text, self._tag))
        if answer.problems:
            return _no_answer(answer.problems)
        pairs = []
        for finding in answer.findings:
            lines = await self._commit.lines(finding.file) if finding.file else None
            pairs.append((locate(finding, lines), lines))
        findings = identify(pairs)
        self._keep(findings)
        return CheckResult(NAME, Verdict.PASSED, reason=count_words(findings))


def _no_answer(problems: Sequence[Problem]) -> CheckResult:
    listed = "\n".join(f"- {one}" for one in problems[:MOST_TOLD])
    told = (
        "An earlier review of this change did not count, because of its answer:\n"
        f"{listed}\nReview the change yourself, and end with the block as it is described above."
    )
    reason = f"no valid answer: {problems[0]}"
    return CheckResult(NAME, Verdict.FAILED, feedback=Feedback(told), reason=reason)
