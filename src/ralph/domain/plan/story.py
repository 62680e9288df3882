"""A story: one entry of tasks.json; which one is next, and in which of the modes implement, review and review-fix."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.domain.plan.document import TasksDocument


class Review(StrEnum):
    """``reviewStatus``; a story nobody has implemented yet has none."""

    NEEDED = "needs_review"
    CHANGES = "changes_requested"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The review-critical fields: what only the right kind of iteration may change."""

    passes: bool = False
    review: Review | None = None
    review_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the review cycle needs to know; all other fields stay in the document."""

    id: str
    title: str
    passes: bool = False
    review: Review | None = None
    review_count: int = 0
    review_feedback: str = ""
    description: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    priority: float = 0
    notes: str = ""
    depends_on: tuple[str, ...] = ()

    @property
    def state(self) -> ReviewState:
        return ReviewState(self.passes, self.review, self.review_count)

    def is_done(self, *, skip_review: bool = False) -> bool:
        """Passed, and by a review unless reviews are skipped."""
        return self.passes and (skip_review or self.review is Review.APPROVED)


# --- which story is next, and in which mode ---

DEFAULT_REVIEW_CAP = 5
ITERATIONS_PER_REVIEW = 2
"""One review, and now and then a fix and another review."""


class IterationMode(StrEnum):
    """The values of ``iterationMode`` in ``.ralph-active``."""

    IMPLEMENT = "implement"
    REVIEW = "review"
    REVIEW_FIX = "review-fix"


@dataclass(frozen=True, slots=True)
class StoryMode:
    """What one iteration is for."""

    story: Story
    mode: IterationMode


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """How a run reviews. ``block_at_cap``: a story that is still not good at the cap waits for a person."""

    cap: int = DEFAULT_REVIEW_CAP
    skip: bool = False
    block_at_cap: bool = False


DEFAULT_REVIEW_RULES = ReviewRules()


def mode_for(document: TasksDocument, *, skip_review: bool = False) -> StoryMode | None:
    """review-fix before review before implement; None: complete, or nothing can start.

    In every mode a story waits for those that it depends on. The lowest ``priority`` comes first, then the order in the document.
    """
    ready = (story for story in document.stories if not waits_for(document, story, skip_review=skip_review))
    ordered = sorted(ready, key=lambda story: story.priority)
    reviews = {Review.CHANGES: IterationMode.REVIEW_FIX, Review.NEEDED: IterationMode.REVIEW}
    for review, mode in () if skip_review else reviews.items():
        for story in ordered:
            if story.review is review and not story.passes:
                return StoryMode(story, mode)
    for story in ordered:
        if not story.passes and (skip_review or story.review is None):
            return StoryMode(story, IterationMode.IMPLEMENT)
    return None


def waits_for(document: TasksDocument, story: Story, *, skip_review: bool = False) -> tuple[str, ...]:
    """The stories it depends on that are not done."""
    return tuple(key for key in story.depends_on if not document.by_id[key].is_done(skip_review=skip_review))


def next_step(document: TasksDocument, story: Story, *, skip_review: bool) -> str:
    """The mode that the story needs next, or why it needs none."""
    if story.is_done(skip_review=skip_review):
        return "done"
    if story.passes:
        return "not approved"
    if missing := waits_for(document, story, skip_review=skip_review):
        return f"waits for {', '.join(missing)}"
    if not skip_review and story.review is Review.CHANGES:
        return "review-fix"
    if not skip_review and story.review is Review.NEEDED:
        return "review"
    return "implement"


def is_complete(document: TasksDocument, *, skip_review: bool = False) -> bool:
    """Every story passes, and by a review unless reviews are skipped. A plan without stories is not complete."""
    return bool(document.stories) and not unfinished_stories(document, skip_review=skip_review)


def unfinished_stories(document: TasksDocument, *, skip_review: bool = False) -> tuple[str, ...]:
    return tuple(story.id for story in document.stories if not story.is_done(skip_review=skip_review))


def estimated_iterations(document: TasksDocument, *, skip_review: bool = False) -> int:
    """About how many are left: three for a story without reviews so far."""
    return sum(_left_for(story, skip_review=skip_review) for story in document.stories)


def _left_for(story: Story, *, skip_review: bool) -> int:
    if story.is_done(skip_review=skip_review):
        return 0
    if skip_review:
        return 1
    return ITERATIONS_PER_REVIEW if story.review is Review.NEEDED else 1 + ITERATIONS_PER_REVIEW


def estimate_text(document: TasksDocument, *, skip_review: bool = False) -> str:
    """Five fresh stories at about three iterations each need about 15."""
    left = len(unfinished_stories(document, skip_review=skip_review))
    needed = estimated_iterations(document, skip_review=skip_review)
    if not left:
        return "every story is done: no iterations needed"
    stories = "1 story" if left == 1 else f"{left} stories"
    iterations = "1 iteration" if needed == 1 else f"{needed} iterations"
    each = needed / left
    return f"{stories} × ~{each:.3g} iteration{'' if each == 1 else 's'} each = ~{iterations} needed"  # noqa: RUF001
