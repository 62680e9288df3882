"""implement → review → fix: only a review with fresh eyes may pass a story (seed 004)."""

from __future__ import annotations

from dataclasses import replace

from ralph.domain.decision import Acceptance
from ralph.domain.story import Review, Story
from ralph.domain.workflow import Step, Violation

IMPLEMENT = Step("implement", acceptance=Acceptance.PROOF)
REVIEW = Step("review", acceptance=Acceptance.PROOF)
REVIEW_FIX = Step("review-fix", acceptance=Acceptance.PROOF)


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
        if after in self._legal(before, after, step):
            return ()
        return (
            Violation(
                before.id,
                f"{step.role} may not change story {before.id} from "
                f"{_seen(before)} to {_seen(after)}; only a review may approve",
            ),
        )

    def _legal(self, before: Story, after: Story, step: Step) -> tuple[Story, ...]:
        if step == REVIEW:
            reviewed = replace(before, review_count=before.review_count + 1)
            approved = replace(
                reviewed, review=Review.APPROVED, passes=True, review_feedback=after.review_feedback
            )
            changes = replace(reviewed, review=Review.CHANGES, review_feedback=after.review_feedback)
            return (before, approved, changes) if after.review_feedback else (before, approved)
        return (before, replace(before, review=Review.NEEDED, review_feedback=""))


def _seen(story: Story) -> str:
    return (
        f"passes={str(story.passes).lower()}, reviewStatus={story.review}, reviewCount={story.review_count}"
    )
