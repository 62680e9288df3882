"""A story: one entry of tasks.json, which the agent itself edits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """What the review cycle needs to know of it; fields it does not know stay in the document."""

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
