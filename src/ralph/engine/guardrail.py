"""A guardrail: a shell command the user wrote. A plan's verifyCommands are judged in the same way."""

from __future__ import annotations

from pathlib import Path

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback, Placement, guardrail_failure
from ralph.domain.proof.required_command import CommandVerdict, RequiredCommand
from ralph.engine.ports import Commands, Journal, Judging, When
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Guardrail:
    """One guardrail, everything resolved."""

    required: RequiredCommand
    slug: str
    placement: Placement = Placement.APPEND
    hint: str = ""
    name: str = ""

    @property
    def command(self) -> str:
        return self.required.command


class GuardrailCheck:
    """One that cannot start or times out has failed, never passed."""

    when = When.ALWAYS

    def __init__(
        self, guardrail: Guardrail, *, commands: Commands, journal: Journal, root: Path, shown_in: Path
    ) -> None:
        self._guardrail = guardrail
        self._commands = commands
        self._journal = journal
        self._root = root
        self._shown_in = shown_in

    @property
    def name(self) -> str:
        return self._guardrail.name or self._guardrail.command

    @property
    def command(self) -> str:
        return self._guardrail.command

    async def run(self, judging: Judging) -> CheckResult:
        guardrail = self._guardrail
        log = self._journal.check_log(judging.iteration, guardrail.slug)
        ran = await self._commands.run(
            guardrail.required, log=log, control=judging.control, publish=judging.publish
        )
        return CheckResult(
            name=self.name,
            verdict=Verdict.PASSED if ran.passed else Verdict.FAILED,
            feedback=None if ran.passed else Feedback(self._told(ran, log), guardrail.placement),
            command=guardrail.command,
            exit_code=ran.exit_code,
            seconds=ran.seconds,
            log_file=self._journal.name_of(log),
            output_sha256=ran.output_sha256,
            reason=ran.remark,
            last_lines=() if ran.passed else ran.last_lines,
        )

    def _told(self, ran: CommandVerdict, log: Path) -> str:
        return guardrail_failure(
            command=self.command,
            exit_code=ran.exit_code or 0,
            hint=self._guardrail.hint,
            log_file=self._shown(log.name),
            is_cut=ran.is_cut,
            output=ran.excerpt + (f"\n[ralph] {ran.remark}" if ran.remark else ""),
        )

    def _shown(self, log_name: str) -> str:
        """As the agent can open it: in a git worktree the state folder is elsewhere."""
        link = self._shown_in / log_name
        return str(link.relative_to(self._root) if link.is_relative_to(self._root) else link)
