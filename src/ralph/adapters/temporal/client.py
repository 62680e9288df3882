"""The fleet as a submitter sees it: jobs are workflows, their state is in memos, words to them are signals."""

from __future__ import annotations

from collections.abc import Sequence
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

from ralph.adapters.temporal import names
from ralph.adapters.temporal.codec import KEY, KEY_FILE
from ralph.adapters.temporal.executions import decode_field, memo_of, view_of
from ralph.adapters.temporal.problems import asked, is_missing
from ralph.adapters.temporal.schedules import add_schedule, list_schedules, remove_schedule
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_size import refusal_of_size
from ralph.domain.fleet.ledger_rules import LedgerState
from ralph.domain.fleet.progress import JobProgress
from ralph.domain.fleet.queues import label_queue
from ralph.domain.fleet.shift import Beat
from ralph.domain.fleet.steps import again, is_merged, refusal_of_note
from ralph.domain.fleet.views import FleetLimits, JobView, ScheduleView, WorkerView
from ralph.domain.text.safe_text import clean_line
from ralph.errors import ServiceAway, ServiceRefused, UsageError
from ralph.values import replace

PAGE = 200
LONGEST_SETTING = 10.0
"""Seconds until a worker must have taken a limit that was set."""
KNOWN = 1_000
"""Jobs that are looked through for a name like the one that is not there."""

LOOKED_AT = 20
"""Of the newest open jobs, so many are asked whether the workers have the key that is set here."""
FIRST_EVENTS = 50
"""In which a workflow that any worker can read has been taken by one."""
UNREAD = "stopped by somebody who does not have its key"
_SET_KEY = f"set {KEY} or {KEY_FILE} as it is on the machines of the fleet"

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
        _check_size(job)
        return await self._start(job, JobProgress(), reuse=WorkflowIDReusePolicy.REJECT_DUPLICATE)

    async def retry(self, job_id: str) -> None:
        """It begins where it ended: what it did is on the remote, and its server knows how far it was."""
        view = await self._readable(job_id)
        if view.is_open:
            msg = f"job {job_id} has not ended"
            raise UsageError(msg, hint=f"`ralph fleet show {job_id}` says what it does")
        if is_merged(view.spec, view.progress):
            raise _has_ended(view)
        spec = await self.spec(job_id)
        if not await self._start(spec, again(view.progress), reuse=WorkflowIDReusePolicy.ALLOW_DUPLICATE):
            msg = f"somebody else has continued job {job_id} a moment ago"
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

    async def spec(self, job_id: str) -> JobSpec:
        """As it was submitted; the memo has it shortened."""
        async with asked(self._client):
            first = await anext(self._handle(job_id).fetch_history_events(page_size=1))
        payloads = first.workflow_execution_started_event_attributes.input.payloads
        found = await decode_field(self._client.data_converter, {"": payloads[0]}, "", JobSpec)
        assert found is not None
        return replace(found, id=job_id)

    async def beat(self, job_id: str) -> Beat | None:
        found = await self._describe(job_id)
        for activity in found.raw_description.pending_activities:
            details = activity.heartbeat_details.payloads
            if activity.activity_type.name == names.SHIFT and details:
                return await decode_field(found.data_converter, {"": details[0]}, "", Beat)
        return None

    # --- words to a job ------------------------------------------------------------------------------------

    async def steer(self, job_id: str, text: str) -> None:
        view = await self._readable(job_id)
        if view.is_open and (refusal := refusal_of_note(view.progress, text)):
            raise UsageError(refusal, hint="put the rest into a file of the repository, and name it")
        await self._signal(job_id, names.STEER, text)

    async def pause(self, job_id: str) -> None:
        await self._readable(job_id)
        await self._signal(job_id, names.PAUSE)

    async def unpause(self, job_id: str) -> None:
        await self._readable(job_id)
        await self._signal(job_id, names.UNPAUSE)

    async def stop(self, job_id: str, *, now: bool = False) -> None:
        found = await self._describe(job_id)
        view = await view_of(found)
        # The server takes a cancellation of what has ended, and does nothing.
        if not view.is_open:
            raise _has_ended(view)
        # What no worker can read never hears that it was cancelled.
        is_lost = bool(view.sealed) and (now or not await _has_begun(self._client, found))
        if now and not is_lost:
            await self._signal(job_id, names.STOP_NOW)
        async with asked(self._client):
            try:
                handle = self._handle(job_id)
                await (handle.terminate(reason=UNREAD) if is_lost else handle.cancel())
            except RPCError as problem:
                await self._refuse(job_id, problem)

    # --- schedules -----------------------------------------------------------------------------------------

    async def schedule(self, schedule_id: str, job: JobSpec, *, cron: str) -> None:
        await self._check_key()
        _check_size(job)
        await add_schedule(self._client, schedule_id, job, cron)

    async def schedules(self) -> Sequence[ScheduleView]:
        return await list_schedules(self._client)

    async def unschedule(self, schedule_id: str) -> None:
        await remove_schedule(self._client, schedule_id)

    # --- machines and what they share ----------------------------------------------------------------------

    async def workers(self, labels: Sequence[str] = ()) -> Sequence[WorkerView]:
        """The server forgets one that has not asked for five minutes, because it is full. All of them, full or not, ask for
        the steps of workflows."""
        asking = await self._pollers(label_queue(labels), TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
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
        raise _has_ended(await view_of(await self._describe(job_id)))

    async def _readable(self, job_id: str) -> JobView:
        """A word to a job is encrypted like the job itself, or its workers could not read it. Raises ServiceRefused."""
        view = await view_of(await self._describe(job_id))
        if view.sealed:
            raise _sealed(view)
        return view

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
        hint = f"did you mean {' or '.join(close)}?" if close else "`ralph fleet status --all` lists all jobs"
        return UsageError(f"there is no job {job_id!r}", hint=hint)

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


def _check_size(job: JobSpec) -> None:
    if refusal := refusal_of_size(job):
        raise UsageError(refusal.message, hint=refusal.hint)


async def check_key(client: Client) -> None:
    """Raises ServiceRefused if the workers have another key: what the newest open job that one of them has taken was written
    with says so. A job that no worker can read is nobody's measure."""
    for found in await _find(client, _OPEN, LOOKED_AT):
        view = await view_of(found)
        if not view.sealed:
            return
        if await _has_begun(client, found):
            hint = f"{_SET_KEY}: the workers could not read what is sent without it"
            msg = f"the fleet has another key: its job {view.spec.id} is {view.sealed}"
            raise ServiceRefused(msg, hint=hint)


async def _has_begun(client: Client, found: WorkflowExecution) -> bool:
    """Whether a worker could read it."""
    done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    handle = client.get_workflow_handle(found.id, run_id=found.run_id)
    async with asked(client):
        try:
            seen = 0
            async for event in handle.fetch_history_events(page_size=FIRST_EVENTS, skip_archival=True):
                seen += 1
                if event.event_type == done:
                    return True
                if seen >= FIRST_EVENTS:
                    break
        except RPCError as problem:
            if not is_missing(problem):
                raise
    return False


async def _find(client: Client, query: str, limit: int) -> list[WorkflowExecution]:
    async with asked(client):
        pages = client.list_workflows(query, limit=limit, page_size=min(limit, PAGE))
        found = [each async for each in pages]
    return sorted(found, key=lambda each: each.start_time, reverse=True)


def _has_ended(job: JobView) -> UsageError:
    if is_merged(job.spec, job.progress):
        msg = f"job {job.spec.id} is completed"
        return UsageError(msg, hint="to do it again, submit it under another --name")
    msg = f"job {job.spec.id} has ended"
    return UsageError(msg, hint=f"to continue it: `ralph fleet retry {job.spec.id}`")


def _sealed(job: JobView) -> ServiceRefused:
    return ServiceRefused(f"job {job.spec.id} cannot be read here: it is {job.sealed}", hint=_SET_KEY)


def _words_of(event: HistoryEvent) -> str:
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            return event.workflow_execution_terminated_event_attributes.reason
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
            return event.workflow_execution_failed_event_attributes.failure.message
        case _:
            return ""
