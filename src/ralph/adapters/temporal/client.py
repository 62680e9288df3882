"""The fleet as a submitter sees it: jobs are workflows, their state is in memos, words to them are signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from temporalio.api.enums.v1 import EventType, TaskQueueType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowHandle,
    WorkflowHistoryEventFilterType,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from ralph.adapters.temporal.executions import decode_field, memo_of, view_of
from ralph.adapters.temporal.problems import asked, is_missing
from ralph.adapters.temporal.schedules import add_schedule, list_schedules, remove_schedule
from ralph.domain.fleet import names
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.ledger_rules import LedgerState
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.steps import LONGEST_NOTE, again
from ralph.domain.fleet.views import FleetLimits, JobView, ScheduleView, WorkerView
from ralph.domain.loop.decision import Outcome
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ServiceAway, UsageError

LARGEST_JOB = 100_000
"""Bytes of what was asked for: each shift is told all of it, and the server keeps every telling."""
PAGE = 200
LONGEST_SETTING = 10.0
"""Seconds until a worker must have taken a limit that was set."""
KNOWN = 1_000
"""Jobs that are looked through for a name like the one that is not there."""

_JOBS = f"WorkflowType = '{names.JOB}' AND WorkflowId STARTS_WITH '{names.workflow_id('')}'"
_OPEN = f"{_JOBS} AND CloseTime IS NULL"
# A long job is continued as another workflow with the same id: what it was before is not a job.
_ENDED = f"{_JOBS} AND CloseTime IS NOT NULL AND ExecutionStatus != 'ContinuedAsNew'"


class TemporalFleet:
    """Implements Fleet. Nothing here waits for a worker, but to set limits."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._has_key = False

    # --- jobs ----------------------------------------------------------------------------------------------

    async def submit(self, job: JobSpec) -> bool:
        await self._check_key()
        await self._check_size(job)
        return await self._start(job, JobProgress(), reuse=WorkflowIDReusePolicy.REJECT_DUPLICATE)

    async def retry(self, job_id: str) -> None:
        """It begins where it ended: what it did is on the remote, and its server knows how far it was."""
        view = await self.job(job_id)
        if view.is_open:
            msg = f"the job {job_id!r} has not ended"
            raise UsageError(msg, hint=f"`ralph fleet show {job_id}` says what it does")
        if view.progress.last.outcome == Outcome.COMPLETED:
            msg = f"the job {job_id!r} is completed"
            raise UsageError(msg, hint="submit it under another name to run it again")
        spec = await self._spec_of(job_id)
        if not await self._start(spec, again(view.progress), reuse=WorkflowIDReusePolicy.ALLOW_DUPLICATE):
            msg = f"somebody else has continued the job {job_id!r} a moment ago"
            raise UsageError(msg)

    async def jobs(self, *, limit: int = PAGE, only_open: bool = False) -> Sequence[JobView]:
        """Open ones first, then the newest first."""
        found = await _find(self._client, _OPEN, limit)
        if not only_open and len(found) < limit:
            found += await _find(self._client, _ENDED, limit)
        # One that was continued after its end is there twice, and so is one that ended between the two questions.
        newest = {each.id: each for each in reversed(found)}
        chosen = [each for each in found if newest[each.id] is each]
        return [await view_of(each) for each in chosen[:limit]]

    async def job(self, job_id: str) -> JobView:
        """What was asked for is shortened here, as in a list, if it is very long."""
        found = await self._describe(job_id)
        view = await view_of(found)
        if view.is_open or not view.problem:
            return view
        reason = await self._reason_of(found)
        return replace(view, problem=f"{view.problem}: {reason}" if reason else view.problem)

    async def beat(self, job_id: str) -> Beat | None:
        found = await self._describe(job_id)
        for activity in found.raw_description.pending_activities:
            details = activity.heartbeat_details.payloads
            if activity.activity_type.name == names.SHIFT and details:
                return await decode_field(found.data_converter, {"": details[0]}, "", Beat)
        return None

    # --- words to a job ------------------------------------------------------------------------------------

    async def steer(self, job_id: str, text: str) -> None:
        if len(text.encode(errors="replace")) > LONGEST_NOTE:
            msg = f"a note is at most {LONGEST_NOTE:,} bytes long"
            raise UsageError(msg, hint="put the rest into a file of the repository, and name it")
        await self._signal(job_id, names.STEER, text)

    async def pause(self, job_id: str) -> None:
        await self._signal(job_id, names.PAUSE)

    async def unpause(self, job_id: str) -> None:
        await self._signal(job_id, names.UNPAUSE)

    async def stop(self, job_id: str, *, now: bool = False) -> None:
        # The server takes a cancellation of what has ended, and does nothing.
        if (await self._describe(job_id)).close_time is not None:
            raise _has_ended(job_id)
        if now:
            await self._signal(job_id, names.STOP_NOW)
        async with asked(self._client):
            try:
                await self._handle(job_id).cancel()
            except RPCError as problem:
                await self._refuse(job_id, problem)

    # --- schedules -----------------------------------------------------------------------------------------

    async def schedule(self, schedule_id: str, job: JobSpec, *, cron: str) -> None:
        await self._check_key()
        await self._check_size(job)
        await add_schedule(self._client, schedule_id, job, cron)

    async def schedules(self) -> Sequence[ScheduleView]:
        return await list_schedules(self._client)

    async def unschedule(self, schedule_id: str) -> None:
        await remove_schedule(self._client, schedule_id)

    # --- machines and what they share ----------------------------------------------------------------------

    async def workers(self, labels: Sequence[str] = ()) -> Sequence[WorkerView]:
        """The server forgets one that has not asked for five minutes, because it is full. All of them, full or not, ask for
        the steps of workflows."""
        asking = await self._pollers(names.label_queue(labels), TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
        if not labels:
            asking += await self._pollers(names.WORKFLOW_QUEUE, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW)
        seen = {
            each.identity: each.last_access_time.ToMilliseconds() / 1000
            for each in sorted(asking, key=lambda each: each.last_access_time.ToMilliseconds())
        }
        ordered = tuple(sorted(labels))
        return [WorkerView(name=name, labels=ordered, seen_at=at) for name, at in sorted(seen.items())]

    async def limits(self) -> FleetLimits:
        """Nobody has ever set one: there are none."""
        async with asked(self._client):
            try:
                found = await self._client.get_workflow_handle(names.LEDGER_ID).describe()
            except RPCError as problem:
                if not is_missing(problem):
                    raise
                return FleetLimits()
        fields = found.raw_info.memo.fields
        return await decode_field(found.data_converter, fields, names.LIMITS, FleetLimits) or FleetLimits()

    async def set_limits(self, limits: FleetLimits) -> None:
        try:
            async with asked(self._client, longest=LONGEST_SETTING):
                ledger = await self._client.start_workflow(
                    names.LEDGER,
                    LedgerState(),
                    id=names.LEDGER_ID,
                    task_queue=names.WORKFLOW_QUEUE,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                )
                await ledger.execute_update(names.SET_LIMITS, limits)
        except ServiceAway as away:
            msg = f"the limits are not set: {away.message}"
            raise ServiceAway(msg, hint="limits need a worker: `ralph fleet worker`") from None

    # --- how -----------------------------------------------------------------------------------------------

    async def _pollers(self, queue: str, kind: TaskQueueType.ValueType) -> list[PollerInfo]:
        request = DescribeTaskQueueRequest(
            namespace=self._client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
        )
        async with asked(self._client):
            answer = await self._client.workflow_service.describe_task_queue(request, retry=True)
        return list(answer.pollers)

    def _handle(self, job_id: str) -> WorkflowHandle[Any, Any]:
        return self._client.get_workflow_handle(names.workflow_id(job_id))

    async def _start(self, job: JobSpec, progress: JobProgress, *, reuse: WorkflowIDReusePolicy) -> bool:
        async with asked(self._client):
            try:
                await self._client.start_workflow(
                    names.JOB,
                    args=[job, progress],
                    id=names.workflow_id(job.id),
                    task_queue=names.WORKFLOW_QUEUE,
                    id_reuse_policy=reuse,
                    id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                    memo=memo_of(job, progress),
                    priority=Priority(priority_key=job.priority),
                )
            except WorkflowAlreadyStartedError:
                return False
        return True

    async def _signal(self, job_id: str, signal: str, *words: str) -> None:
        async with asked(self._client):
            try:
                await self._handle(job_id).signal(signal, args=words)
            except RPCError as problem:
                await self._refuse(job_id, problem)

    async def _refuse(self, job_id: str, problem: RPCError) -> None:
        """A job that has ended and one that never was are the same to the server."""
        if not is_missing(problem):
            raise problem
        await self._describe(job_id)
        raise _has_ended(job_id)

    async def _describe(self, job_id: str) -> WorkflowExecutionDescription:
        async with asked(self._client):
            try:
                return await self._handle(job_id).describe()
            except RPCError as problem:
                if not is_missing(problem):
                    raise
        raise await self._unknown(job_id)

    async def _unknown(self, job_id: str) -> UsageError:
        known = [view.spec.id for view in await self.jobs(limit=KNOWN)]
        close = get_close_matches(job_id, known, n=3)
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else "`ralph fleet status --all` shows what is there"
        )
        return UsageError(f"there is no job {job_id!r}: it never was, or was deleted", hint=hint)

    async def _spec_of(self, job_id: str) -> JobSpec:
        """As it was submitted; the memo has it shortened."""
        async with asked(self._client):
            first = await anext(self._handle(job_id).fetch_history_events(page_size=1))
        payloads = first.workflow_execution_started_event_attributes.input.payloads
        found = await decode_field(self._client.data_converter, {"": payloads[0]}, "", JobSpec)
        assert found is not None
        return replace(found, id=job_id)

    async def _reason_of(self, found: WorkflowExecution) -> str:
        """What the server says of a workflow that did not end by itself; nothing, if it is being deleted."""
        handle = self._client.get_workflow_handle(found.id, run_id=found.run_id)
        last = WorkflowHistoryEventFilterType.CLOSE_EVENT
        async with asked(self._client):
            try:
                events = [each async for each in handle.fetch_history_events(event_filter_type=last)]
            except RPCError as problem:
                if not is_missing(problem):
                    raise
                return ""
        return clean_line(_words_of(events[-1])) if events else ""

    async def _check_key(self) -> None:
        if not self._has_key:
            await check_key(self._client)
        self._has_key = True

    async def _check_size(self, job: JobSpec) -> None:
        (payload,) = await self._client.data_converter.encode([job])
        if (size := payload.ByteSize()) > LARGEST_JOB:
            msg = f"the job {job.id!r} is too large for the server: {size:,} bytes, at most {LARGEST_JOB:,}"
            raise UsageError(msg, hint="put a long prompt into a file of the repository: `run -f PROMPT.md`")


async def check_key(client: Client) -> None:
    """Raises Sealed if the newest open job cannot be read here: a job that we submit could not be read by whoever does that one,
    and a worker without the key would only fail what it is given."""
    for found in await _find(client, _OPEN, 1):
        fields = found.raw_info.memo.fields
        await decode_field(found.data_converter, fields, names.SPEC, JobSpec)


async def _find(client: Client, query: str, limit: int) -> list[WorkflowExecution]:
    async with asked(client):
        pages = client.list_workflows(query, limit=limit, page_size=min(limit, PAGE))
        found = [each async for each in pages]
    return sorted(found, key=lambda each: each.start_time, reverse=True)


def _has_ended(job_id: str) -> UsageError:
    return UsageError(f"the job {job_id!r} has ended", hint=f"to continue it: `ralph fleet retry {job_id}`")


def _words_of(event: HistoryEvent) -> str:
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            return event.workflow_execution_terminated_event_attributes.reason
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            return event.workflow_execution_failed_event_attributes.failure.message
        case _:
            return ""
