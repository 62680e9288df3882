"""The line of jobs that want to move one base of one repository, as a workflow. It ends when nobody is in it."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError

from ralph.adapters.temporal.job_workflow import is_history_long

with workflow.unsafe.imports_passed_through():
    from ralph.adapters.temporal import names
    from ralph.domain.fleet.merge_line import MergeLine
    from ralph.domain.fleet.steps import JobStanding

LOOK_EVERY = 60.0
"""Seconds until somebody looks whether the job that has the turn is still there."""


@workflow.defn(name=names.MERGE_QUEUE)
class RalphMergeQueue:
    @workflow.init
    def __init__(self, line: MergeLine) -> None:
        self._line = line
        self._told = ""

    @workflow.run
    async def run(self, line: MergeLine) -> None:
        while holder := self._line.holder:
            if holder != self._told:
                await self._tell(holder)
                continue
            if is_history_long():
                workflow.continue_as_new(self._line)
            try:
                await workflow.wait_condition(lambda: self._line.holder != self._told, timeout=LOOK_EVERY)
            except TimeoutError:
                await self._look_at(holder)

    @workflow.signal(name=names.ASK)
    def ask(self, job: str) -> None:
        self._line = self._line.asked(job)
        if job == self._told:
            self._told = ""  # it does not know that it has the turn

    @workflow.signal(name=names.LEFT)
    def left(self, job: str) -> None:
        self._line = self._line.without([job])

    async def _tell(self, holder: str) -> None:
        self._told = holder
        try:
            await workflow.get_external_workflow_handle(names.workflow_id(holder)).signal(names.MERGE_TURN)
        except FailureError:
            self._line = self._line.without([holder])

    async def _look_at(self, holder: str) -> None:
        [standing] = await workflow.execute_activity(
            names.LOOK_AT_JOBS,
            [holder],
            result_type=list[str],
            task_queue=names.WORKFLOW_QUEUE,
            start_to_close_timeout=timedelta(seconds=30),
        )
        if standing != JobStanding.OPEN:
            self._line = self._line.without([holder])
