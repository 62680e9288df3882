from __future__ import annotations

from dataclasses import replace

import pytest

from ralph.domain.fleet import names
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


def test_a_worker_looks_under_all_combinations_of_its_labels() -> None:
    queues = names.label_queues(["gpu", "linux"])
    assert queues == (
        names.label_queue(["linux", "gpu"]),
        names.label_queue(["gpu"]),
        names.label_queue(["linux"]),
        names.ANY_QUEUE,
    )
    assert names.label_queues([]) == (names.ANY_QUEUE,)


def test_one_merge_queue_per_repository_and_base_that_tells_no_address() -> None:
    job = JobSpec(id="a", repository="https://name:word@example.com/r.git", base="main")
    assert names.merge_queue_id(job) == names.merge_queue_id(replace(job, id="b"))
    assert names.merge_queue_id(job) != names.merge_queue_id(replace(job, base="next"))
    assert "word" not in names.merge_queue_id(job)
