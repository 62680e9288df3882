"""A plan whose stories are all approved stays as it is: a session on its pull request has nothing to say about it."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.plan.document import TasksDocument, read_document
from ralph.engine.ports import Judging, When


class KeptPlan:
    """``read`` gives the text of the plan's tasks.json, ``trusted`` what it must say."""

    name = "plan"
    command = ""
    when = When.ALWAYS

    def __init__(
        self, read: Callable[[], str | None], trusted: Callable[[], TasksDocument], *, file: str
    ) -> None:
        self._read = read
        self._trusted = trusted
        self._file = file

    async def run(self, judging: Judging) -> CheckResult:
        found = read_document(self._read() or "")
        if isinstance(found, TasksDocument) and found.data == self._trusted().data:
            return CheckResult(self.name, Verdict.PASSED)
        told = (
            f"{self._file} has changed. Its stories are approved: put it back as it was in the last commit."
        )
        return CheckResult(
            self.name, Verdict.FAILED, feedback=Feedback(told), reason=f"{self._file} has changed"
        )
