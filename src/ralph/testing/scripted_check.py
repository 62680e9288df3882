"""A check whose verdicts are scripted."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.engine.ports import Judging, When
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class ScriptedCheck:
    """Passes when ``passes`` says so; otherwise returns ``feedback``."""

    name: str
    passes: Callable[[Judging], bool]
    feedback: Feedback
    command: str = ""
    when: When = When.ALWAYS

    async def run(self, judging: Judging) -> CheckResult:
        if self.passes(judging):
            return CheckResult(self.name, Verdict.PASSED)
        return CheckResult(self.name, Verdict.FAILED, feedback=self.feedback)
