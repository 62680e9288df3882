"""How work on a task is verified: each role by the method of its completion criteria, and once more where it was merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ralph.domain.loop.events import Warned
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.task import Task
from ralph.engine.ports import Commands, Control, Judging, Publish, When
from ralph.engine.tasks.methods import method_named
from ralph.engine.tasks.ports import VerificationTools, Verifying


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
        self._method = method_named(criteria.verification_method, tools.custom_method)

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
            # What keeps a judge from judging is not the agent's to fix.
            feedback=None if found.passed or found.hindrance else Feedback(found.told or found.reason),
            command=found.command,
            exit_code=found.exit_code,
            seconds=found.seconds,
            log_file=found.log_file,
            output_sha256=found.output_sha256,
            reason=found.reason,
            last_lines=() if found.passed else found.last_lines,
            spend=found.spend,
            concern=found.concern,
            hindrance=found.hindrance,
        )


async def verify_merge(
    required: Sequence[RequiredCommand],
    commands: Commands,
    *,
    log: Callable[[int], Path],
    control: Control,
    publish: Publish,
    rerun: bool,
) -> str:
    """Two tasks that are right apart may be wrong together. Empty if all commands pass, else what the first failure was."""
    for number, command in enumerate(required, 1):
        verdict = await commands.run(command, log=log(number), control=control, publish=publish, rerun=rerun)
        if not verdict.passed:
            return f"`{command.command}` {verdict.reason}\n{verdict.excerpt}"
        if verdict.flaky:
            publish(Warned(f"after the merge, `{command.command}` {verdict.flaky}"))
    return ""
