"""How a role's work is verified: the checks that follow from its completion criteria (seed 002)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ralph.adapters.checks.external import run_command
from ralph.domain.completion import CompletionCriteria, VerificationMethod
from ralph.domain.evidence import CheckResult, Verdict
from ralph.domain.feedback import Feedback
from ralph.domain.task import Task
from ralph.engine.ports import Agent, Check, Journal, Judging, ProcessRunner, When


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationTools:
    """What verifications work with. ``judge`` gives the agent that judges, with the model a task asks for."""

    runner: ProcessRunner  # in the sandbox, if there is one
    git: ProcessRunner  # our own git
    journal: Journal
    judge: Callable[[str], Agent]
    shell: Callable[[str], tuple[str, ...]]
    root: Path
    state_folder: Path
    base_commit: str
    truncate_chars: int
    redact: Callable[[str], str]
    protect: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    rerun_failing: bool = False


def stage_checks(
    criteria: CompletionCriteria, *, task: Task, role: str, first_role: str, tools: VerificationTools
) -> list[Check]:
    """Those of one role of one task, in the order in which they are run."""
    if criteria.verification_method == VerificationMethod.EXTERNAL:
        return [_External(criteria, tools)]
    return []


class _External:
    name = "external"
    when = When.ON_CLAIM

    def __init__(self, criteria: CompletionCriteria, tools: VerificationTools) -> None:
        self._criteria = criteria
        self._tools = tools

    @property
    def command(self) -> str:
        return str(self._criteria.verification_config.get("command", ""))

    async def run(self, judging: Judging) -> CheckResult:
        tools = self._tools
        verdict = await run_command(
            self._criteria.verification_config,
            runner=tools.runner,
            shell=tools.shell,
            root=tools.root,
            log=tools.journal.check_log(judging.iteration, f"verify-{judging.assignment.role}"),
            stop=judging.control.stop_now(),
        )
        return CheckResult(
            self.name,
            Verdict.PASSED if verdict.passed else Verdict.FAILED,
            feedback=None if verdict.passed else Feedback(f"{verdict.reason}\n{verdict.excerpt}"),
            command=self.command,
            exit_code=verdict.exit_code,
            seconds=verdict.seconds,
            output_sha256=verdict.output_sha256,
            reason=verdict.reason,
        )
