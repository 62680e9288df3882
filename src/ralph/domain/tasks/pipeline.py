"""coder → reviewer → tester → qa, or whichever roles the settings name: each must be accepted before the next one sees the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ralph.domain.loop.decision import Acceptance
from ralph.domain.tasks.criteria import criteria_for
from ralph.domain.tasks.roles import ROLES, CompletionDefaults
from ralph.domain.tasks.task import Task, TaskStatus


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of an item's way."""

    role: str
    promise: str = ""
    limit: int | None = None
    acceptance: Acceptance = Acceptance.CLAIM_AND_PROOF


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A role that rejects or gives up sends the task back to the first, at most ``max_rejections`` times.

    ``templates``: what each role is told. ``finished``: what a task is that the last role accepted; ACCEPTED where its branch is still to be merged.
    """

    roles: tuple[str, ...] = tuple(ROLES)
    defaults: CompletionDefaults = field(default_factory=CompletionDefaults)
    templates: Mapping[str, str] = field(default_factory=dict)
    max_rejections: int = 3
    finished: TaskStatus = TaskStatus.DONE

    def next_step(self, item: Task) -> Step | None:
        if item.status is not TaskStatus.OPEN:
            return None
        # A role that the settings no longer have starts over: changing them skips nothing.
        role = item.stage if item.stage in self.roles else self.roles[0]
        criteria = criteria_for(item, role, self.defaults)
        return Step(role, promise=criteria.promise, limit=criteria.max_iterations)

    def advance(self, item: Task, step: Step, *, accepted: bool, reason: str = "") -> Task:
        position = self.roles.index(step.role)
        if accepted:
            if position + 1 == len(self.roles):
                return replace(item, status=self.finished, stage="", used=0)
            return replace(item, stage=self.roles[position + 1], used=0)
        if position == 0 or item.rejections >= self.max_rejections:
            why = f"{step.role}: {reason}"
            return replace(
                item, status=TaskStatus.FAILED, stage=step.role, reason=why, remarks=(*item.remarks, why)
            )
        return replace(
            item,
            stage=self.roles[0],
            used=0,
            rejections=item.rejections + 1,
            remarks=(*item.remarks, f"{step.role}: {reason}"),
        )

    def is_given_up(self, item: Task) -> bool:
        return item.status is TaskStatus.FAILED
