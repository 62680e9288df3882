"""Jobs and merge queues as workflows are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.adapters.temporal import names
from ralph.domain.fleet.job import JobSpec


@pytest.mark.parametrize(
    ("job", "workflow_id"),
    [
        ("fix-login", "ralph1-job-fix-login"),
        ("nightly-20260730T030000Z", "ralph1-job-nightly-2026-07-30T03:00:00Z"),
    ],
)
def test_a_job_and_its_workflow(job: str, workflow_id: str) -> None:
    """A schedule adds the time with colons, which no branch may have."""
    assert names.workflow_id(job) == workflow_id
    assert names.job_of(workflow_id) == job


def test_one_merge_queue_per_repository_and_base_that_tells_no_address() -> None:
    job = JobSpec(id="a", repository="https://name:word@example.com/r.git", base="main")
    assert names.merge_queue_id(job) == names.merge_queue_id(replace(job, id="b"))
    assert names.merge_queue_id(job) != names.merge_queue_id(replace(job, base="next"))
    assert "word" not in names.merge_queue_id(job)
