"""Verification by judgement: forbidden words first, then a fresh session that looks at the change and the criteria."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import AgentReport, Ending, Spend
from ralph.domain.proof.judge import added_lines, question, read_answer
from ralph.engine.ports import AgentRequest
from ralph.engine.tasks.ports import MethodVerdict, Verifying

PURPOSE = "verification"
ROLE = "judge"
TRIES = 2


class Semantic:
    async def verify(self, verifying: Verifying) -> MethodVerdict:
        diff = await verifying.tools.diff()
        patterns = _texts(verifying.config.get("negative_patterns"))
        if found := next(_forbidden(patterns, diff, verifying.judging.report.text), None):
            return MethodVerdict(Verdict.FAILED, found, told=f"Verification failed: {found}")
        criteria = _texts(verifying.config.get("check_for"))
        if not criteria:
            if patterns:
                return MethodVerdict(Verdict.PASSED, "none of the forbidden texts was found")
            reason = "there is nothing to judge by: neither criteria nor forbidden texts"
            return MethodVerdict(Verdict.ERRORED, reason, told=reason)
        return await self._judged(verifying, criteria, diff)

    async def _judged(self, verifying: Verifying, criteria: Sequence[str], diff: str) -> MethodVerdict:
        spent = Spend()
        failure = ""
        before = await verifying.tools.fingerprint()
        for number in range(1, TRIES + 1):
            tag = f"verdict-{secrets.token_hex(4)}"  # the change cannot know it, and so cannot answer for the judge
            report = await self._ask(verifying, criteria, diff, tag, number)
            spent += report.spend
            if report.ending is Ending.STOPPED:
                return MethodVerdict(Verdict.ERRORED, "the judge was stopped", spend=spent)
            if await verifying.tools.fingerprint() != before:
                reason = "the judge changed the working tree, so its answer does not count"
                told = f"{reason}. Look at `git status` and `git diff`, and keep what is yours only."
                return MethodVerdict(Verdict.ERRORED, reason, told=told, spend=spent)
            if report.fault is not None or report.ending is not Ending.EXITED:
                failure = report.fault.reason if report.fault is not None else f"it {report.ending}"
                continue
            answer = read_answer([one.content for one in report.tags if one.name == tag], criteria)
            if answer is None:
                reason = "the judge gave no answer that could be read"
                if number < TRIES:
                    continue
                return MethodVerdict(Verdict.ERRORED, reason, told=reason, spend=spent)
            told = "Verification failed. These criteria do not hold:\n" + "\n".join(
                f"- {one}" for one in answer.missing
            )
            return MethodVerdict(
                Verdict.PASSED if answer.verified else Verdict.FAILED,
                answer.reason,
                told=told,
                seconds=spent.seconds,
                spend=spent,
            )
        # A model that cannot be asked is no reason to stop: the promise is believed, and the user is told.
        concern = f"{verifying.role} of {verifying.task.id} was believed by its promise: no judge could be asked ({failure})"
        return MethodVerdict(Verdict.PASSED, concern, spend=spent, concern=concern)

    async def _ask(
        self, verifying: Verifying, criteria: Sequence[str], diff: str, tag: str, number: int
    ) -> AgentReport:
        tools, judging, task = verifying.tools, verifying.judging, verifying.task
        prompt = tools.redact(
            question(
                tag=tag,
                title=task.title,
                description=task.description,
                outcome=task.outcome,
                criteria=criteria,
                role=verifying.role,
                diff=diff,
                words=judging.report.text,
            )
        )
        purpose = "-".join(filter(None, ("verify", verifying.name, str(number) if number > 1 else "")))
        files = tools.journal.open_session(
            prompt, iteration=judging.iteration, attempt=judging.attempt, purpose=purpose
        )
        request = AgentRequest(
            prompt=prompt,
            prompt_file=files.prompt,
            log_file=files.log,
            cwd=tools.root,
            purpose=PURPOSE,
            role=verifying.role,
            environment={"RALPH_ROLE": ROLE},
            read_only=True,
            parts=(prompt,),
        )
        judge = tools.judge(str(verifying.config.get("model") or ""), (tag,))
        return await judge.run(request, judging.publish, stop=judging.control.stop_now())


def _forbidden(patterns: Sequence[str], diff: str, words: str) -> Iterator[str]:
    for pattern in patterns:
        lowered = pattern.casefold()
        for file, line in added_lines(diff):
            if lowered in line.casefold():
                yield f"forbidden text {pattern!r} was added in {file}: {line.strip()[:120]}"
        if lowered in words.casefold():
            yield f"forbidden text {pattern!r} is in what was said at the end"


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, Sequence):
        return [str(one) for one in value if str(one).strip()]
    return []
