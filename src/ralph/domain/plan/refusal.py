"""What becomes of an approval that the verifyCommands deny."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ralph.domain.plan.correction import AT_CAP
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.story import Review, Story
from ralph.domain.text.excerpt import Keep, truncate

FEEDBACK_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class FailedProof:
    """A command that the harness ran itself, and what it said."""

    command: str
    message: str


def refusal_text(failures: Sequence[FailedProof]) -> str:
    """For the next session: every command is named, their output is bounded."""
    named = ", ".join(f"`{failed.command}`" for failed in failures)
    said = "\n\n".join(failed.message for failed in failures)
    return (
        f"The harness ran the verification commands itself and did not accept the approval. Failing: {named}\n\n"
        + truncate(said, FEEDBACK_CHARS, Keep.BOTH)
    )


def refuse(
    document: TasksDocument, key: str, failures: Sequence[FailedProof], *, skip_review: bool
) -> TasksDocument:
    """The story goes back: to its fixer with the output, or, where reviews are skipped, to its implementer."""
    story = document.story(key)
    if skip_review:
        return document.with_story(replace(story, passes=False))
    return document.with_story(
        replace(story, passes=False, review=Review.CHANGES, review_feedback=_feedback(story, failures))
    )


def _feedback(story: Story, failures: Sequence[FailedProof]) -> str:
    earlier = story.review_feedback.removeprefix(AT_CAP).strip()
    text = refusal_text(failures)
    return f"{text}\n\nThe review itself said: {earlier}" if earlier else text
