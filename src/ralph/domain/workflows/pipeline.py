"""coder → reviewer → tester → qa: each role must be accepted before the next one sees the task (seed 002)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.task import Task, TaskStatus
from ralph.domain.workflow import Step, Violation


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A stage that gives up sends the task back to the first, at most ``max_sent_back`` times."""

    steps: tuple[Step, ...]
    max_sent_back: int = 3

    def next_step(self, item: Task) -> Step | None:
        if item.status is not TaskStatus.OPEN:
            return None
        return next((step for step in self.steps if step.role == item.stage), self.steps[0])

    def advance(self, item: Task, step: Step, *, accepted: bool, reason: str = "") -> Task:
        position = self.steps.index(step)
        if accepted:
            if position + 1 == len(self.steps):
                return replace(item, status=TaskStatus.DONE, stage="", used=0)
            return replace(item, stage=self.steps[position + 1].role, used=0)
        if position == 0 or item.sent_back >= self.max_sent_back:
            return replace(item, status=TaskStatus.FAILED, remarks=(*item.remarks, reason))
        return replace(
            item,
            stage=self.steps[0].role,
            used=0,
            sent_back=item.sent_back + 1,
            remarks=(*item.remarks, f"{step.role}: {reason}"),
        )

    def is_given_up(self, item: Task) -> bool:
        return item.status is TaskStatus.FAILED

    def audit(self, before: Task, after: Task, step: Step) -> tuple[Violation, ...]:
        """The agents of a pipeline do not touch the task itself."""
        return () if before == after else (Violation(before.id, "only the harness moves a task on"),)
