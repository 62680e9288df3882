"""One step, then done: a task list without stages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.task import Task, TaskStatus
from ralph.domain.workflow import Step, Violation


@dataclass(frozen=True, slots=True)
class Single:
    """A workflow of one step."""

    step: Step

    def next_step(self, item: Task) -> Step | None:
        return self.step if item.status is TaskStatus.OPEN else None

    def advance(self, item: Task, step: Step, *, accepted: bool, reason: str = "") -> Task:
        return replace(item, status=TaskStatus.DONE if accepted else TaskStatus.FAILED)

    def is_given_up(self, item: Task) -> bool:
        return item.status is TaskStatus.FAILED

    def audit(self, before: Task, after: Task, step: Step) -> tuple[Violation, ...]:
        return ()
