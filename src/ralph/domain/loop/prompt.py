"""The prompt of one iteration, from the task and the feedback of the last session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback, Placement
from ralph.values import dataclass

SEPARATOR = "\n\n"


def compose(base: str, feedback: Sequence[Feedback]) -> str:
    """The base prompt with feedback above, below or in place of it; each group in order.

    REPLACE replaces the *base*, never other feedback: no failure message is lost.
    """
    above = [item.text for item in feedback if item.placement is Placement.PREPEND]
    instead = [item.text for item in feedback if item.placement is Placement.REPLACE]
    below = [item.text for item in feedback if item.placement is Placement.APPEND]
    return SEPARATOR.join([*above, *(instead or [base]), *below])


def with_iteration_count(prompt: str, *, iteration: int, maximum: int) -> str:
    """The setting ``includeIterationCountInPrompt``."""
    remaining = max(0, maximum - iteration)
    return f"Iteration {iteration} of {maximum}, {remaining} remaining.{SEPARATOR}{prompt}"


@dataclass(frozen=True, slots=True)
class AsGiven:
    """The prompt as given, with feedback, and the iteration count first if wanted."""

    with_count: bool = False

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        prompt = compose(assignment.objective, feedback)
        if self.with_count and maximum is not None:
            return with_iteration_count(prompt, iteration=iteration, maximum=maximum)
        return prompt


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each ``{{NAME}}`` once, literally: a value that contains ``{{MAX}}`` comes out unchanged."""
    pieces: list[str] = []
    position = 0
    while (start := template.find("{{", position)) >= 0:
        end = template.find("}}", start)
        if end < 0:
            break
        name = template[start + 2 : end]
        pieces.append(template[position:start])
        pieces.append(values.get(name, template[start : end + 2]))
        position = end + 2
    pieces.append(template[position:])
    return "".join(pieces)
