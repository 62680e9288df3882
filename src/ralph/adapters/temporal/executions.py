"""What the server says of a job's workflow, as a view: its memo is all that a list needs, so no worker is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus
from temporalio.converter import DataConverter

from ralph.adapters.temporal.codec import Sealed
from ralph.adapters.temporal.names import PROGRESS, SPEC, job_of
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.views import JobView
from ralph.values import replace

T = TypeVar("T")

LONGEST_WORD = 4_000
"""Characters of a prompt or a task that a list carries: some servers keep 64 kB of memo, and a list has hundreds."""

_ENDINGS = {
    WorkflowExecutionStatus.FAILED: "its workflow failed",
    WorkflowExecutionStatus.CANCELED: "it was cancelled on the server",
    WorkflowExecutionStatus.TERMINATED: "it was terminated on the server",
    WorkflowExecutionStatus.TIMED_OUT: "its time on the server ran out",
}


def memo_of(job: JobSpec, progress: JobProgress) -> dict[str, object]:
    return {SPEC: _shorten(job), PROGRESS: progress}


async def view_of(found: WorkflowExecution) -> JobView:
    """What cannot be read is shown as such: a list is not refused for one job that was encrypted with another key."""
    is_open = found.close_time is None
    problem = "" if is_open else _ENDINGS.get(found.status or WorkflowExecutionStatus.COMPLETED, "")
    spec, progress, sealed = JobSpec(id="", repository=""), JobProgress(), ""
    memo = found.raw_info.memo.fields
    try:
        spec = await decode_field(found.data_converter, memo, SPEC, JobSpec) or spec
        progress = await decode_field(found.data_converter, memo, PROGRESS, JobProgress) or progress
    except Sealed as error:
        sealed = error.message
    if not is_open and progress.phase is not Phase.ENDED:
        progress = replace(progress, phase=Phase.ENDED, reason=problem)
    # A schedule's jobs were submitted when it fired, not when it was made; one that is long is continued as another workflow.
    was_submitted = spec.id and spec.submitted_at
    return JobView(
        spec=replace(spec, id=job_of(found.id)),
        progress=progress,
        is_open=is_open,
        started_at=spec.submitted_at if was_submitted else found.start_time.timestamp(),
        ended_at=None if found.close_time is None else found.close_time.timestamp(),
        problem=problem,
        sealed=sealed,
    )


async def decode_field(
    converter: DataConverter, fields: Mapping[str, Payload], name: str, kind: type[T]
) -> T | None:
    """None: it is not there. Raises Sealed for what cannot be read."""
    if name not in fields:
        return None
    try:
        values: list[T] = await converter.decode([fields[name]], [kind])
    except Sealed:
        raise
    except Exception as problem:  # a converter may raise anything for what somebody else wrote
        msg = "not in a form that this ralph understands"
        raise Sealed(msg) from problem
    return values[0]


def _shorten(job: JobSpec) -> JobSpec:
    return replace(
        job,
        command=tuple(_short(word) for word in job.command),
        task=_short(job.task),
        title=_short(job.title),
    )


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…"
