"""How a role's work is verified: the checks that follow from its completion criteria (seed 002)."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.checks.custom_method import CustomMethod
from ralph.adapters.checks.external import External
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.tasks.completion import CompletionCriteria, VerificationMethod
from ralph.domain.tasks.task import Task
from ralph.engine.ports import Check, Judging, When
from ralph.engine.tasks.multi_stage import MultiStage
from ralph.engine.tasks.semantic import Semantic
from ralph.engine.tasks.string_match import StringMatch
from ralph.engine.tasks.verifying import Method, VerificationTools, Verifying

__all__ = ["VerificationTools", "method_named", "stage_checks"]


def method_named(name: str) -> Method:
    """Raises ConfigError for one that nobody offers."""
    match name:
        case VerificationMethod.STRING_MATCH:
            return StringMatch()
        case VerificationMethod.EXTERNAL:
            return External()
        case VerificationMethod.SEMANTIC:
            return Semantic()
        case VerificationMethod.MULTI_STAGE:
            return MultiStage(method_named)
        case _:
            return CustomMethod(name)


def stage_checks(
    criteria: CompletionCriteria,
    *,
    task: Task,
    role: str,
    tools: VerificationTools,
    before: Sequence[Check],
) -> list[Check]:
    """Those of one role of one task, in the order in which they are run: first that the proof is still the proof."""
    return [*before, VerificationCheck(criteria, task=task, role=role, tools=tools)]


class VerificationCheck:
    """Runs the method of a role when its promise was said."""

    when = When.ON_CLAIM

    def __init__(
        self, criteria: CompletionCriteria, *, task: Task, role: str, tools: VerificationTools
    ) -> None:
        self._criteria = criteria
        self._task = task
        self._role = role
        self._tools = tools
        self._method = method_named(str(criteria.verification_method))

    @property
    def name(self) -> str:
        return str(self._criteria.verification_method)

    @property
    def command(self) -> str:
        return str(self._criteria.verification_config.get("command") or "")

    async def run(self, judging: Judging) -> CheckResult:
        found = await self._method.verify(
            Verifying(
                config=self._criteria.verification_config,
                criteria=self._criteria,
                task=self._task,
                role=self._role,
                judging=judging,
                tools=self._tools,
            )
        )
        return CheckResult(
            name=self.name,
            verdict=found.verdict,
            feedback=None if found.verdict is Verdict.PASSED else Feedback(found.told or found.reason),
            command=found.command,
            exit_code=found.exit_code,
            seconds=found.seconds,
            log_file=found.log_file,
            output_sha256=found.output_sha256,
            reason=found.reason,
            last_lines=() if found.passed else found.last_lines,
            spend=found.spend,
            concern=found.concern,
        )
