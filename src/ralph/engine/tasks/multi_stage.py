"""Verification in several stages, each by a method of its own; one that is not required only warns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ralph.domain.loop.events import Warned
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.session_report import Spend
from ralph.engine.tasks.ports import Method, MethodVerdict, Verifying


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
            verdicts = list(await asyncio.gather(*(self._one(verifying, stage) for stage in stages)))
        else:
            verdicts = []
            for stage in stages:
                verdict = await self._one(verifying, stage)
                verdicts.append(verdict)
                if stops_early and not verdict.passed and _is_required(stage):
                    break
        return _together(list(zip(stages, verdicts, strict=False)), len(stages), verifying)

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
    failed = [(stage, verdict) for stage, verdict in pairs if not verdict.passed and _is_required(stage)]
    warned = [(stage, verdict) for stage, verdict in pairs if not verdict.passed and not _is_required(stage)]
    for stage, verdict in warned:
        verifying.judging.publish(Warned(f"{_name(stage)} (not required): {verdict.reason}"))
    concerns = [verdict.concern for _, verdict in pairs if verdict.concern]
    seconds = sum(verdict.seconds for _, verdict in pairs)
    concern = "; ".join(concerns)
    if not failed:
        warnings = f", {len(warned)} with a warning" if warned else ""
        reason = f"All {number} verification stages passed{warnings}"
        return MethodVerdict(Verdict.PASSED, reason, seconds=seconds, spend=spend, concern=concern)
    reasons = "; ".join(f"{_name(stage)}: {verdict.reason}" for stage, verdict in failed)
    is_error = all(verdict.verdict is Verdict.ERRORED for _, verdict in failed)
    return MethodVerdict(
        Verdict.ERRORED if is_error else Verdict.FAILED,
        f"Failed stages: {reasons}"
        if len(failed) > 1
        else f"Stage '{_name(failed[0][0])}' failed: {failed[0][1].reason}",
        told="\n\n".join(
            f"Stage '{_name(stage)}':\n{verdict.told or verdict.reason}" for stage, verdict in failed
        ),
        exit_code=failed[0][1].exit_code,
        seconds=seconds,
        log_file=failed[0][1].log_file,
        spend=spend,
        concern=concern,
        last_lines=failed[0][1].last_lines,
    )


def _is_required(stage: Mapping[str, Any]) -> bool:
    return stage.get("required", True) is not False


def _name(stage: Mapping[str, Any]) -> str:
    return str(stage.get("name") or "unnamed")
