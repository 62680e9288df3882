"""What the CI of the forge does is not a session's to change: judged by the commit that would be pushed, not by the files."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.engine.delivery.order import some_of
from ralph.engine.delivery.ports import Branch, DeliveryMemory
from ralph.engine.ports import Judging, When

LEFT = "What a session left"
"""The message of a commit of whatever a session did not commit itself."""


class KeptCi:
    """An index flag, an exclude or a filter can make the working tree say something else than the commit. ``base``: the branch
    that was merged into this one, whose own changes are nobody's fault."""

    name = "files of the CI"
    command = ""
    when = When.BEFORE_ACCEPT

    def __init__(
        self,
        branch: Branch,
        memory: DeliveryMemory,
        base: Callable[[], str],
        is_protected: Callable[[str], bool],
    ) -> None:
        self._branch = branch
        self._memory = memory
        self._base = base
        self._is_protected = is_protected

    async def run(self, judging: Judging) -> CheckResult:
        tip = await self._branch.commit_left(LEFT)
        since, base = self._memory.load().handed or tip, self._base()
        wrong = sorted(filter(self._is_protected, await self._branch.changed_files(since, tip)))
        if wrong:  # as the base has it now is right, if it was the base that changed it
            brought = {*await self._branch.brought_files(since, base)}
            brought -= {*await self._branch.changed_files(base, tip)}
            wrong = [name for name in wrong if name not in brought]
        if not wrong:
            return CheckResult(self.name, Verdict.PASSED, reason="as they were")
        told = f"The commit changes {some_of(wrong)}. Put back what the CI runs: it is not yours to change."
        reason = f"the commit changes {some_of(wrong)}"
        return CheckResult(self.name, Verdict.FAILED, feedback=Feedback(told), reason=reason)
