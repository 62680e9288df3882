from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.domain.promise.loop_state import (
    NO_PROMISE,
    NOT_ACCEPTED,
    ContinuationStyle,
    RalphLoopState,
    build_continuation_prompt,
)

if TYPE_CHECKING:
    from ralph.engine.ports import PromptStyle

STYLE: PromptStyle = ContinuationStyle("DONE")
TASK = Assignment(key="prompt", objective="Build {{MAX}} things.")


def test_the_first_prompt_is_the_task() -> None:
    assert STYLE(TASK, (), iteration=1, maximum=100) == "Build {{MAX}} things."


def test_from_the_second_iteration_on_it_is_the_continuation_prompt() -> None:
    state = RalphLoopState(True, 2, 100, "DONE", "", TASK.objective)
    assert STYLE(TASK, (), iteration=2, maximum=100) == build_continuation_prompt(state)
    assert "Ralph loop, iteration 2/unlimited." in STYLE(TASK, (), iteration=2, maximum=None)


@pytest.mark.parametrize("iteration", [1, 2])
def test_feedback_goes_where_it_is_placed(iteration: int) -> None:
    base = STYLE(TASK, (), iteration=iteration, maximum=9).replace(NO_PROMISE, NOT_ACCEPTED)
    feedback = [Feedback("above", Placement.PREPEND), Feedback("below", Placement.APPEND)]
    assert STYLE(TASK, feedback, iteration=iteration, maximum=9) == f"above\n\n{base}\n\nbelow"


def test_an_assignment_with_a_promise_of_its_own_is_asked_for_that() -> None:
    task = Assignment("prompt", "x", promise="REVIEWED")
    assert "<promise>REVIEWED</promise>" in STYLE(task, (), iteration=2, maximum=9)
