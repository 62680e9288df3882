"""The prompts of profile ``promise``: the task that names its tag, then seed 000's continuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import SEPARATOR, compose
from ralph.domain.promise.loop_state import continuation_prompt, detect_completion


@dataclass(frozen=True, slots=True)
class ContinuationStyle:
    """A ``PromptStyle``. An assignment that has a promise of its own is asked for that one."""

    promise: str

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        promise = assignment.promise or self.promise
        if iteration > 1:
            base = continuation_prompt(
                assignment.objective, promise=promise, iteration=iteration, maximum=maximum
            )
        else:
            base = _naming_the_promise(assignment.objective, promise)
        return compose(base, feedback)


def _naming_the_promise(objective: str, promise: str) -> str:
    if detect_completion(objective, promise):
        return objective
    return (
        f"{objective}{SEPARATOR}When the task is fully complete, output <promise>{promise.strip()}</promise>."
    )
