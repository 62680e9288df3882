"""What is added to a prompt besides the checks' feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import Budget
from ralph.domain.loop.completion import Completion
from ralph.domain.loop.events import Steered
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.loop.stalls import standstill_remark
from ralph.domain.loop.state import LoopState
from ralph.engine.ports import Clock, Publish

INTERRUPTED = (
    "The previous session of this iteration was interrupted before it ended. Its changes may be half done:"
    " look at the state of the work before you continue."
)


class InterruptionAdviser:
    """Tells the first session after a resume that the one before it was cut off."""

    def __init__(self, iteration: int) -> None:
        self._iteration = iteration

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        return (Feedback(INTERRUPTED),) if state.iteration == self._iteration else ()


class StuckAdviser:
    """Warns an agent that makes no progress before the run is ended for it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        warning = standstill_remark(state, self._budget)
        return (warning,) if warning is not None else ()


class LedgerAdviser:
    """Tells every session but the first of its assignment what the earlier ones did, and what became of it."""

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        told = state.ledger.text(assignment.key, is_told=bool(state.feedback))
        return (Feedback(told, is_history=True),) if told else ()


class CompletionAdviser:
    """Says how to claim that the work is done where the prompt does not, and when everything passes without a claim."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        return self._completion.advice(state, assignment)


class RoleAdviser:
    """Tells the sessions of one role what it must know besides its task."""

    def __init__(self, role: str, text: str) -> None:
        self._role = role
        self._text = text

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        return (Feedback(self._text),) if assignment.role == self._role else ()


class NoteAdviser:
    """Tells every session what has become known since the task was begun. ``note``: as it is now; empty: nothing."""

    def __init__(self, note: Callable[[], str]) -> None:
        self._note = note

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        note = self._note()
        return (Feedback(note),) if note else ()


class Steering(Protocol):
    """Where the user's words come from."""

    def steering(self, *, at: float, iteration: int) -> Sequence[str]: ...


class SteeringAdviser:
    """Puts what the user said with ``ralph steer`` into the next prompt."""

    def __init__(self, steering: Steering, clock: Clock, publish: Publish) -> None:
        self._steering = steering
        self._clock = clock
        self._publish = publish

    async def advise(self, state: LoopState, assignment: Assignment) -> Sequence[Feedback]:
        words = self._steering.steering(at=self._clock.now(), iteration=state.iteration + 1)
        for text in words:
            self._publish(Steered(text))
        return [Feedback(f"A word from the user:\n{text}", Placement.PREPEND) for text in words]
