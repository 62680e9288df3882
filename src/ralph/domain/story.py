"""A story: an entry of seed 004's tasks.json, which the agent itself edits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Review(StrEnum):
    """``reviewStatus``; a story nobody has implemented yet has none."""

    NEEDED = "needs_review"
    CHANGES = "changes_requested"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the review cycle needs to know of it."""

    id: str
    title: str
    passes: bool = False
    review: Review | None = None
    review_count: int = 0
    review_feedback: str = ""
