"""implement → review → fix: only a review with fresh eyes may pass a story (seed 004)."""

from __future__ import annotations

from ralph.domain.decision import Acceptance
from ralph.domain.iteration_mode import IterationMode
from ralph.domain.stop_checks import transition_broken
from ralph.domain.story import Review, Story
from ralph.domain.workflow import Step, Violation

IMPLEMENT = Step(IterationMode.IMPLEMENT.value, acceptance=Acceptance.PROOF)
REVIEW = Step(IterationMode.REVIEW.value, acceptance=Acceptance.PROOF)
REVIEW_FIX = Step(IterationMode.REVIEW_FIX.value, acceptance=Acceptance.PROOF)


class ReviewCycle:
    """The agent edits its story; the audit says which edits its mode allowed."""

    def next_step(self, item: Story) -> Step | None:
        match item.review:
            case Review.CHANGES:
                return REVIEW_FIX
            case Review.NEEDED:
                return REVIEW
            case Review.APPROVED:
                return None
            case None:
                return IMPLEMENT

    def advance(self, item: Story, step: Step, *, accepted: bool, reason: str = "") -> Story:
        """What the agent legally wrote stands; there is nothing for the harness to add."""
        return item

    def is_given_up(self, item: Story) -> bool:
        return False

    def audit(self, before: Story, after: Story, step: Step) -> tuple[Violation, ...]:
        if before.state == after.state:
            return ()
        broken = transition_broken(before.state, after, IterationMode(step.role))
        return tuple(Violation(before.id, message) for message in broken)
