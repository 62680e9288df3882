"""Audits what the agent did to its own items, and undoes what its role was not allowed to do."""

from __future__ import annotations

from typing import Generic, Protocol, cast

from ralph.domain.evidence import CheckResult, Verdict
from ralph.domain.feedback import Feedback, Placement
from ralph.domain.workflow import Item, Workflow
from ralph.engine.ports import Judging, When


class AuditedStore(Protocol[Item]):
    def get(self, key: str) -> Item: ...

    def put(self, key: str, item: Item) -> None: ...


class TransitionCheck(Generic[Item]):
    """The trusted snapshot is the assignment's subject: the agent has a shell, but not our memory."""

    name = "transitions"
    command = ""
    when = When.ALWAYS

    def __init__(self, store: AuditedStore[Item], workflow: Workflow[Item]) -> None:
        self._store = store
        self._workflow = workflow

    async def run(self, judging: Judging) -> CheckResult:
        key = judging.assignment.key.rsplit("/", 1)[0]
        before = cast(Item, judging.assignment.subject)
        after = self._store.get(key)
        step = self._workflow.next_step(before)
        assert step is not None, "an assignment always has a step"
        violations = self._workflow.audit(before, after, step)
        if violations:
            self._store.put(key, before)
            told = "\n".join(violation.message for violation in violations)
            return CheckResult(
                self.name,
                Verdict.FAILED,
                feedback=Feedback(f"Your changes were undone:\n{told}", Placement.PREPEND),
                reason=told,
            )
        if before == after:
            return CheckResult(
                self.name,
                Verdict.FAILED,
                feedback=Feedback(f"The session left {key} as it was; {step.role} must move it on."),
                reason=f"{key} unchanged",
            )
        return CheckResult(self.name, Verdict.PASSED)
