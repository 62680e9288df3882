"""What a review ended with, as its run kept it."""

from __future__ import annotations

import json
from pathlib import Path

from ralph.domain.review.document import REVIEW_FILE, review_of
from ralph.domain.review.finding import Review
from ralph.errors import StoreError, UsageError
from ralph.operations.runs.files import RunFiles

MOST_BYTES = 50_000_000


def read_review(state_folder: Path, run_id: str) -> Review:
    """Raises UsageError if the run has no answer, and StoreError if it cannot be read."""
    files = RunFiles(state_folder, run_id)
    if files.status(REVIEW_FILE) is None:
        message = f"run {run_id} has no review"
        raise UsageError(message, hint="`ralph runs` lists runs; `ralph review` makes a review")
    try:
        with files.open(REVIEW_FILE) as file:
            return review_of(json.loads(file.read(MOST_BYTES)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"the review of run {run_id} cannot be read"
        raise StoreError(message, hint="make a new one with `ralph review`") from error
