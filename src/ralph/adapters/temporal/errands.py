"""What workflows ask of the server, which they cannot ask themselves: small activities of any worker."""

from __future__ import annotations

import asyncio

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from ralph.adapters.temporal import names
from ralph.domain.fleet import steps
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.merge_line import MergeLine
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.steps import JobStanding

_AT_ONCE = 10


class Errands:
    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=names.ASK_FOR_TURN)
    async def ask_for_turn(self, queue: str, job: str) -> None:
        await self._client.start_workflow(
            names.MERGE_QUEUE,
            MergeLine(),
            id=queue,
            task_queue=names.WORKFLOW_QUEUE,
            start_signal=names.ASK,
            start_signal_args=[job],
        )

    @activity.defn(name=names.LOOK_AT_JOBS)
    async def look_at_jobs(self, jobs: list[str]) -> list[str]:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def look(job: str) -> str:
            async with limit:
                return (await self._look_at(job)).value

        return list(await asyncio.gather(*(look(job) for job in jobs)))

    async def _look_at(self, job: str) -> JobStanding:
        try:
            found = await self._client.get_workflow_handle(names.workflow_id(job)).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return JobStanding.GONE
        if found.status in (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW):
            return JobStanding.OPEN
        spec = await found.memo_value(names.SPEC, default=None, type_hint=JobSpec)
        progress = await found.memo_value(names.PROGRESS, default=None, type_hint=JobProgress)
        if spec is None or progress is None or not steps.is_merged(spec, progress):
            return JobStanding.ENDED
        return JobStanding.MERGED
