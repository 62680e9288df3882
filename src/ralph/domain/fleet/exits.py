"""The exit code of a job that somebody waited for: that of the same run on one machine."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.fleet.views import JobView

CANNOT_RUN = 4
INTERRUPTED = 130
"""Of a run that was stopped."""
_OF_OUTCOME = {"completed": 0, "exhausted": 1, "failed": CANNOT_RUN, "waiting": 5, "cancelled": INTERRUPTED}


def exit_code_of(job: JobView) -> int:
    """Of one that has ended."""
    last = job.progress.last
    if job.problem or job.sealed:
        return CANNOT_RUN
    return last.exit_code if last.exit_code is not None else _OF_OUTCOME.get(last.outcome, INTERRUPTED)


def common_exit_code(jobs: Sequence[JobView]) -> int:
    """0: all completed. 1: they did not in different ways, as `ralph work` has it."""
    codes = {exit_code_of(job) for job in jobs} - {0}
    return next(iter(codes)) if len(codes) == 1 else int(bool(codes))
