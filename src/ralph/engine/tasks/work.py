"""One task on its way through the pipeline: what its next role is asked, and what a decision makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ralph.domain.loop.assignment import Assignment, Drained, Offer
from ralph.domain.loop.decision import Accept, Continue, Decision, GiveUp, Stop
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.history import why_not
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task, TaskStatus, count_iteration, has_moved, keep_progress
from ralph.engine.tasks.ports import TaskRecord

Objective = Callable[[Task, str], str]
"""What a role is told about the task."""


class TaskWork:
    """Drained when every role has accepted the task, or when it was given up or cancelled."""

    def __init__(
        self,
        record: TaskRecord,
        pipeline: Pipeline,
        *,
        objective: Objective,
        accepted: Callable[[str], str] = lambda role: "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``accepted``: the commit that was judged when a role's work was accepted. ``environment``: variables that
        every session gets."""
        self._record = record
        self._pipeline = pipeline
        self._objective = objective
        self._accepted = accepted
        self._environment = dict(environment or {})
        self._known: Task | None = None  # as we left it
        self._failing = ""  # what the role whose turn it is was told last

    async def next(self, state: LoopState) -> Offer:
        task = self._known = self._untouched()
        step = self._pipeline.next_step(task)
        if step is None:
            if task.status in (TaskStatus.FAILED, TaskStatus.CANCELLED):
                return Drained(task.reason or f"the task is {task.status}", (task.id,))
            return Drained(f"every role has accepted {task.id}")
        return Assignment(
            key=f"{task.id}/{step.role}",
            objective=self._objective(task, step.role),
            role=step.role,
            limit=step.limit,
            used=task.used if task.stage == step.role else 0,
            promise=step.promise,
            acceptance=step.acceptance,
            subject=task,
            environment={**self._environment, "RALPH_TASK_ID": task.id, "RALPH_ROLE": step.role},
        )

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        before = self._untouched()
        step = self._pipeline.next_step(before)
        used = before.used if step is not None and before.stage == step.role else 0
        if step is None or step.role != assignment.role or used != assignment.used:
            return  # settled already, or cancelled meanwhile
        after = before if evidence is None else count_iteration(before, step.role)
        match decision:
            case Accept():
                after = self._pipeline.advance(after, step, accepted=True, commit=self._accepted(step.role))
            case GiveUp(reason):
                why = reason.removeprefix(f"{assignment.key}: ")  # what it is about is known where it is told
                if evidence is None and self._failing:  # the next one must know what to fix
                    why = f"{why}; last: {self._failing}"
                after = self._pipeline.advance(after, step, accepted=False, reason=why)
            case Stop(reason=reason, is_final=True):
                decision = GiveUp(reason)
                after = self._pipeline.fail(after, step, reason=reason)
            case Continue():
                pass
            case _:
                return  # not judged: it does not count
        self._known = after
        self._failing = why_not(evidence) if evidence is not None and isinstance(decision, Continue) else ""
        self._record.settle(before, after, evidence=evidence, decision=decision, role=step.role)

    def _untouched(self) -> Task:
        """An agent has a shell and could write to the record: then it is as we left it. Cancelling is the user's right."""
        task = self._record.task()
        known = self._known
        if known is None or task.status is TaskStatus.CANCELLED or not has_moved(known, task):
            return task
        restored = keep_progress(known, task)
        self._record.put_back(restored)
        return restored
