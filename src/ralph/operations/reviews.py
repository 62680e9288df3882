"""Whether something can be reviewed, and what a review ended with, as its run kept it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.domain.review.document import REVIEW_FILE, review_of
from ralph.domain.review.finding import Review
from ralph.errors import RalphError, StoreError, UsageError
from ralph.operations.runs.files import RunFiles

if TYPE_CHECKING:
    from ralph.wiring.launch import Launch

MOST_BYTES = 50_000_000


def require_reviewable(launch: Launch, what: str, base: str) -> None:
    """A name that means nothing here leaves no run on record. Raises UsageError."""
    import asyncio

    from ralph.adapters.git import Git
    from ralph.adapters.own_programs import OwnPrograms
    from ralph.adapters.processes.runner import PosixProcessRunner
    from ralph.wiring.review_target import require_target

    workspace = launch.root.workspace
    own = OwnPrograms(reach=(workspace,))
    runner = PosixProcessRunner(run_id="", base_environment=own.environment, find=own.find)
    git = Git(workspace, runner, is_top=False)
    asyncio.run(require_target(launch.settings.pull_request, git, what, base))


def find_review(state_folder: Path, run_id: str) -> Review | None:
    """None also for one that cannot be read: whoever shows a run shows the rest of it all the same."""
    try:
        return read_review(state_folder, run_id)
    except RalphError:
        return None


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
