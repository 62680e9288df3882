"""Before work is judged it is installed from its own files: an agent may have changed what it depends on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.layer_names import LayerName
from ralph.engine.ports import Judging, When
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """``prepare`` gives what it did: None if nothing had changed, else why it failed, or an empty text.

    That it fails with the task's files but not with those it began with is the agent's to fix; anything else ends the run.
    """

    prepare: Callable[[], Awaitable[str | None]]
    name: str = LayerName.SETUP
    command: str = ""
    when: When = When.ALWAYS

    async def run(self, judging: Judging) -> CheckResult:
        why = await self.prepare()
        if why is None:
            same = "what it was installed from has not changed"
            return CheckResult(self.name, Verdict.SKIPPED, required=False, reason=same)
        if not why:
            done = "installed again, from the files that were changed"
            return CheckResult(self.name, Verdict.PASSED, required=False, reason=done)
        told = (
            "You changed files that the project's dependencies are installed from, and the installation fails with them,"
            f" although it works without your changes:\n{why}"
        )
        reason = why.partition("\n")[0]
        return CheckResult(self.name, Verdict.FAILED, feedback=Feedback(told), reason=reason)
