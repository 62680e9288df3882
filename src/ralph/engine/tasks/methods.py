"""The methods of verification that ship with ralph: the promise alone, a command, a judge, several stages."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ralph.domain.loop.events import Warned
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import AgentReport, Ending, Hindrance, Obstacle, Spend, most_lasting
from ralph.domain.proof.judge import added_lines, question, read_answer
from ralph.domain.proof.parallel_stages import phases
from ralph.domain.proof.verification_config import required_by
from ralph.domain.tasks.completion import VerificationMethod
from ralph.domain.tasks.criteria import WITHOUT_SPEC
from ralph.domain.text.safe_text import slug
from ralph.engine.ports import AgentRequest
from ralph.engine.tasks.ports import Method, MethodVerdict, Verifying
from ralph.errors import AgentUnavailable
from ralph.values import replace

PURPOSE = "verification"
ROLE = "judge"
TRIES = 2


def method_named(name: str, custom: Callable[[str], Method]) -> Method:
    """One of ralph's own, or what ``custom`` finds; it raises ConfigError if there is no such method."""
    match name:
        case VerificationMethod.STRING_MATCH:
            return StringMatch()
        case VerificationMethod.EXTERNAL:
            return External()
        case VerificationMethod.SEMANTIC:
            return Semantic()
        case VerificationMethod.MULTI_STAGE:
            return MultiStage(lambda stage: method_named(stage, custom))
        case _:
            return custom(name)


class StringMatch:
    """The promise alone: that it was said has been checked already."""

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        concern = "" if verifying.task.completion_spec else WITHOUT_SPEC
        return MethodVerdict(
            Verdict.PASSED, f"promise {verifying.criteria.promise} was said", concern=concern
        )


class External:
    """The method ``external``. A tree that did not change within an iteration is not verified twice."""

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        tools = verifying.tools
        fingerprint = await tools.fingerprint()
        config = json.dumps(verifying.config, sort_keys=True, default=str)
        key = (verifying.judging.iteration, fingerprint, config)
        if fingerprint and (known := tools.known.get(key)) is not None:
            return replace(known, reason=f"{known.reason} (nothing has changed since)", seconds=0.0)
        verdict = await self._run(verifying)
        if fingerprint and await tools.fingerprint() == fingerprint:
            tools.known[key] = verdict
        return verdict

    async def _run(self, verifying: Verifying) -> MethodVerdict:
        tools, judging = verifying.tools, verifying.judging
        required = replace(required_by(verifying.config), most_chars=tools.truncate_chars)
        name = "-".join(filter(None, ("verify", verifying.role, verifying.name)))
        log = tools.journal.check_log(judging.iteration, slug(name))
        ran = await tools.commands.run(
            required, log=log, control=judging.control, publish=judging.publish, rerun=tools.rerun_failing
        )
        concern = f"flaky: `{required.command}` {ran.flaky}" if ran.flaky else ""
        shown = str(tools.state_folder / log.name)
        return MethodVerdict(
            Verdict.PASSED if ran.passed else Verdict.ERRORED if ran.errored else Verdict.FAILED,
            concern or ran.reason or "External verification passed",
            told=f"Verification failed: `{required.command}`: {ran.reason}\nFull output: {shown}\n{ran.excerpt}",
            command=required.command,
            exit_code=ran.exit_code,
            seconds=ran.seconds,
            log_file=tools.journal.name_of(log),
            output_sha256=ran.output_sha256,
            concern=concern,
            last_lines=ran.last_lines,
        )


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
        try:
            return await self._judge(verifying, criteria, diff)
        except (
            AgentUnavailable
        ) as error:  # trying again does not help, but a worker may undo what it did to the judge
            reason = f"nobody can judge here: {error.message}"
            told = f"Verification failed: {reason} ({error.hint})" if error.hint else reason
            return MethodVerdict(Verdict.FAILED, reason, told=told)

    async def _judge(self, verifying: Verifying, criteria: Sequence[str], diff: str) -> MethodVerdict:
        spent = Spend()
        hindrance: Hindrance | None = None
        for number in range(1, TRIES + 1):
            tag = f"verdict-{secrets.token_hex(4)}"  # the change cannot know it, and so cannot answer for the judge
            tree = await verifying.tools.keep_tree()
            report = await self._ask(verifying, criteria, diff, tag, number)
            changed = await tree.put_back()
            spent += report.spend
            if report.ending is Ending.STOPPED:
                return MethodVerdict(Verdict.ERRORED, "the judge was stopped", spend=spent)
            if changed:  # perhaps it has made true what it should judge
                reason = (
                    f"the judge changed {_listed(changed)}; that was undone, and its answer does not count"
                )
                if number < TRIES:
                    verifying.judging.publish(Warned(reason))
                    continue
                return MethodVerdict(Verdict.ERRORED, reason, told=reason, spend=spent)
            hindrance = _hindrance_of(report)
            if hindrance is not None:
                if hindrance.obstacle is not Obstacle.TRANSIENT:
                    break  # asking once more cannot help, and whoever could stand in was asked already
                continue
            answer = read_answer([one.content for one in report.tags if one.name == tag], criteria)
            if answer is None:
                reason = "the judge gave no answer that could be read"
                if number < TRIES:
                    verifying.judging.publish(Warned(f"{reason}: asking once more", mild=True))
                    continue
                # No work changes that, and so no further session: only the judging is repeated, and soon given up.
                unread = Hindrance(Obstacle.TRANSIENT, reason)
                return MethodVerdict(Verdict.ERRORED, reason, told=reason, spend=spent, hindrance=unread)
            missing = "\n".join(f"- {one}" for one in answer.missing)
            told = f"Verification failed. These criteria do not hold:\n{missing}"
            verdict = Verdict.PASSED if answer.verified else Verdict.FAILED
            return MethodVerdict(verdict, answer.reason, told=told, seconds=spent.seconds, spend=spent)
        # Nothing is accepted because it could not be judged.
        assert hindrance is not None
        reason = f"the judge could not be asked: {hindrance.reason}"
        return MethodVerdict(Verdict.ERRORED, reason, told=reason, spend=spent, hindrance=hindrance)

    async def _ask(
        self, verifying: Verifying, criteria: Sequence[str], diff: str, tag: str, number: int
    ) -> AgentReport:
        tools, judging, task = verifying.tools, verifying.judging, verifying.task
        prompt = tools.redact(
            question(
                task, tag=tag, criteria=criteria, role=verifying.role, diff=diff, words=judging.report.text
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
        judge = tools.judge(str(verifying.config.get("model") or ""), (tag,), turn=number - 1)
        return await judge.run(request, judging.publish, stop=judging.control.stop_now())


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _hindrance_of(report: AgentReport) -> Hindrance | None:
    """Why the judge has not judged. One that was cut off may do better the next time."""
    if report.hindrance is not None or report.ending is Ending.EXITED:
        return report.hindrance
    return Hindrance(Obstacle.TRANSIENT, f"it was cut off ({report.ending})")


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


class MultiStage:
    """``method_named`` finds the method of a stage."""

    def __init__(self, method_named: Callable[[str], Method]) -> None:
        self._method_named = method_named

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        stages: Sequence[Mapping[str, Any]] = verifying.config.get("stages") or ()
        if not stages:
            reason = "there are no stages: nothing would be verified"
            return MethodVerdict(Verdict.ERRORED, reason, told=reason)
        stops_early = verifying.config.get("require_all", True) is not False
        if verifying.config.get("parallel") is True:
            verdicts = await self._at_once(verifying, stages)
        else:
            verdicts = []
            for stage in stages:
                verdict = await self._one(verifying, stage)
                verdicts.append(verdict)
                if stops_early and not verdict.passed and _is_required(stage):
                    break
        return _together(list(zip(stages, verdicts, strict=False)), len(stages), verifying)

    async def _at_once(
        self, verifying: Verifying, stages: Sequence[Mapping[str, Any]]
    ) -> list[MethodVerdict]:
        """As far as they do not disturb each other."""
        found: dict[int, MethodVerdict] = {}
        for phase in phases(stages):
            verdicts = await asyncio.gather(*(self._one(verifying, stages[place]) for place in phase))
            found.update(zip(phase, verdicts, strict=True))
        return [found[place] for place in range(len(stages))]

    async def _one(self, verifying: Verifying, stage: Mapping[str, Any]) -> MethodVerdict:
        method = self._method_named(str(stage.get("method") or "string_match"))
        inner = replace(verifying, config=stage.get("config") or {}, name=_name(stage))
        return await method.verify(inner)


def _together(
    pairs: list[tuple[Mapping[str, Any], MethodVerdict]], number: int, verifying: Verifying
) -> MethodVerdict:
    spend = Spend()
    for _, verdict in pairs:
        spend += verdict.spend
    wrong = [(stage, verdict) for stage, verdict in pairs if not verdict.passed]
    failed = [(stage, verdict) for stage, verdict in wrong if _is_required(stage)]
    warned = [(stage, verdict) for stage, verdict in wrong if not _is_required(stage)]
    for stage, verdict in warned:
        verifying.judging.publish(Warned(f"{_name(stage)} (not required): {verdict.reason}"))
    seconds = sum(verdict.seconds for _, verdict in pairs)
    concern = "; ".join(verdict.concern for _, verdict in pairs if verdict.concern)
    if not failed:
        warnings = f", {len(warned)} with a warning" if warned else ""
        reason = f"All {number} verification stages passed{warnings}"
        return MethodVerdict(Verdict.PASSED, reason, seconds=seconds, spend=spend, concern=concern)
    told = (f"Stage '{_name(stage)}':\n{verdict.told or verdict.reason}" for stage, verdict in failed)
    reasons = "; ".join(f"{_name(stage)}: {verdict.reason}" for stage, verdict in failed)
    stage, first = failed[0]
    alone = f"Stage '{_name(stage)}' failed: {first.reason}"
    is_error = all(verdict.verdict is Verdict.ERRORED for _, verdict in failed)
    hindered = [verdict.hindrance for _, verdict in failed]
    return MethodVerdict(
        Verdict.ERRORED if is_error else Verdict.FAILED,
        f"Failed stages: {reasons}" if len(failed) > 1 else alone,
        told="\n\n".join(told),
        exit_code=first.exit_code,
        seconds=seconds,
        log_file=first.log_file,
        spend=spend,
        concern=concern,
        last_lines=first.last_lines,
        hindrance=most_lasting(hindered),
    )


def _is_required(stage: Mapping[str, Any]) -> bool:
    return stage.get("required", True) is not False


def _name(stage: Mapping[str, Any]) -> str:
    return str(stage.get("name") or "unnamed")
